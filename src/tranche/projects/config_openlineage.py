"""The table [openlineage] of tranche.toml: where run events go, in the words of the client."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol

from tranche.errors import ConfigError
from tranche.model.project import OpenLineageSettings
from tranche.projects.secrets import secrets_of

TRANSPORT = "openlineage.transport"
NAMESPACE_VARIABLE = "OPENLINEAGE_NAMESPACE"
DISABLED_VARIABLE = "OPENLINEAGE_DISABLED"
TRANSPORT_VARIABLES = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG")
"""What of the client's own environment says where events go; it reads these by itself."""
_TRANSPORT_PREFIX = "OPENLINEAGE__TRANSPORT__"

_HTTP = {
    "url": "address",
    "endpoint": "text",
    "timeout": "number",
    "verify": "flag",
    "auth": "table",
    "compression": "text",
    "custom_headers": "table",
    "retry": "table",
}
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "http": _HTTP,
    "async_http": {**_HTTP, "max_queue_size": "number", "max_concurrent_requests": "number"},
    "file": {
        "log_file_path": "text",
        "append": "flag",
        "debug_mode": "flag",
        "filesystem": "text",
        "fs_kwargs": "table",
        "storage_options": "table",
    },
    "console": {},
    "composite": {
        "transports": "transports",
        "continue_on_failure": "flag",
        "continue_on_success": "flag",
        "sort_transports": "flag",
    },
}
"""The options of the transports that need no further packages, and what each must be."""
_NEEDED = {
    "http": "url",
    "async_http": "url",
    "file": "log_file_path",
    "composite": "transports",
}
_ANY = {"type": "text", "name": "text", "priority": "number"}
_OTHERS = ("kafka", "msk-iam", "datadog", "gcplineage", "amazon_datazone_api", "transform", "noop")
"""Transports whose options the client alone knows."""
_REMEDIES = {
    "text": "give a text in quotes",
    "address": "write it as https://lineage.example.com",
    "number": "give a number above 0",
    "flag": "give true or false",
    "table": "write it as a table, { name = … }",
    "transports": "give a list of tables, or a table of tables, each with a type",
}


class Reading(Protocol):
    """What reads a file's settings, as far as these need it."""

    root: Path
    environ: Mapping[str, str]
    secrets: set[str]

    def error(self, what: str, remedy: str, name: str) -> ConfigError: ...

    def expanded(self, text: str, name: str) -> str: ...

    def string(self, table: dict[str, Any], name: str, default: str) -> str: ...


def read_openlineage(
    reading: Reading, table: dict[str, Any], project: str
) -> OpenLineageSettings | None:
    """Where events go; None if nobody says so, or if the environment forbids it."""
    transport = None
    if "transport" in table:
        transport = _transport(reading, table["transport"], TRANSPORT)
    default = reading.environ.get(NAMESPACE_VARIABLE) or project
    found = OpenLineageSettings(
        namespace=reading.string(table, "openlineage.namespace", default),
        transport=transport,
        code=_code(reading, table.get("code", True)),
    )
    if _disabled(reading.environ) or not (transport or _said_by(reading.environ)):
        return None
    for name, value in reading.environ.items():
        if name.startswith("OPENLINEAGE"):
            reading.secrets.update(_secrets_of_variable(name, value))
    return found


def _disabled(environ: Mapping[str, str]) -> bool:
    return environ.get(DISABLED_VARIABLE, "").strip().lower() == "true"


def _said_by(environ: Mapping[str, str]) -> bool:
    named = any(environ.get(name) for name in TRANSPORT_VARIABLES)
    return named or any(name.startswith(_TRANSPORT_PREFIX) for name in environ)


def _code(reading: Reading, value: object) -> bool:
    if not isinstance(value, bool):
        raise reading.error(f"openlineage.code is {value!r}", _REMEDIES["flag"], "openlineage.code")
    return value


def _transport(reading: Reading, given: object, where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise reading.error(f"{where} is no table", f"write [{TRANSPORT}]", where)
    kind = given.get("type")
    known = (*_OPTIONS, *_OTHERS)
    if not isinstance(kind, str) or not kind:
        what = f"{where} has no type" if kind is None else f"{where}.type is {kind!r}"
        raise reading.error(what, f"use {', '.join(known)}", f"{where}.type")
    kind = reading.expanded(kind, f"{where}.type")
    # A class of one's own is named with its module.
    if kind not in known and "." not in kind:
        near = get_close_matches(kind, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"use {', '.join(known)}"
        raise reading.error(f"unknown type {kind!r} of {where}", hint, f"{where}.type")
    if kind in _NEEDED and _NEEDED[kind] not in given:
        needed = _NEEDED[kind]
        raise reading.error(f"{where} of type {kind} has no {needed}", f"add {needed} = …", where)
    options = {"type": kind}
    for name, value in given.items():
        if name != "type":
            options[name] = _option(reading, kind, value, f"{where}.{name}")
    if kind == "file":
        options["log_file_path"] = _file(reading.root, options["log_file_path"])
    return options


def _option(reading: Reading, kind: str, value: object, name: str) -> Any:
    option = name.rpartition(".")[2]
    known = {**_ANY, **_OPTIONS.get(kind, {})}
    if kind in _OPTIONS and option not in known:
        near = get_close_matches(option, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"use {', '.join(known)}"
        raise reading.error(f"unknown setting {name!r}", hint, name)
    form = known.get(option)
    if form == "transports":
        return _transports(reading, value, name)
    found = _expanded(reading, value, name, name)
    if form is not None and not _fits(form, found):
        # What is in a table or in an address may be secret, and is not shown.
        what = f"{name} is {found!r}" if form in ("number", "flag") else f"{name} is no {form}"
        raise reading.error(what, _REMEDIES[form], name)
    if option == "compression" and found != "gzip":
        raise reading.error(f"{name} is {found!r}", "use gzip, or leave it out", name)
    return found


def _transports(reading: Reading, value: object, name: str) -> Any:
    if isinstance(value, list) and value:
        return [_transport(reading, each, name) for each in value]
    if isinstance(value, dict) and value:
        return {key: _transport(reading, each, f"{name}.{key}") for key, each in value.items()}
    raise reading.error(f"{name} names none", _REMEDIES["transports"], name)


def _fits(form: str, value: object) -> bool:
    match form:
        case "address":
            return isinstance(value, str) and value.startswith(("http://", "https://"))
        case "number":
            numeric = isinstance(value, int | float) and not isinstance(value, bool)
            return numeric and float(str(value)) > 0
        case "flag":
            return isinstance(value, bool)
        case "table":
            return isinstance(value, dict)
        case _:
            return isinstance(value, str) and bool(value)


def _expanded(reading: Reading, value: object, name: str, option: str) -> Any:
    """The value with the environment's in place of `${…}`, however deep they lie."""
    if isinstance(value, str):
        # All that proves who one is; a header may do that under any name.
        if ".auth." in name or ".custom_headers." in name:
            found = reading.expanded(value, option)
            shown = name.rpartition(".")[2].lower() == "type"
            reading.secrets.update(() if shown else secrets_of("secret", found))
            return found
        return reading.expanded(value, name)
    if isinstance(value, dict):
        return {k: _expanded(reading, v, f"{name}.{k}", option) for k, v in value.items()}
    if isinstance(value, list):
        return [_expanded(reading, each, name, option) for each in value]
    if isinstance(value, bool | int | float):
        return value
    raise reading.error(f"{option} holds a {type(value).__name__}", _REMEDIES["text"], option)


def _file(root: Path, path: str) -> str:
    return path if "://" in path else str(root / path)


def _secrets_of_variable(name: str, value: str) -> Iterator[str]:
    yield from secrets_of(name, value)
    if "{" in value:
        try:
            told = json.loads(value)
        except ValueError:
            return
        yield from _secrets_within(name, told)


def _secrets_within(name: str, told: object) -> Iterator[str]:
    if isinstance(told, str):
        yield from secrets_of(name, told)
    elif isinstance(told, dict):
        for key, value in told.items():
            yield from _secrets_within(f"{name}.{key}", value)
