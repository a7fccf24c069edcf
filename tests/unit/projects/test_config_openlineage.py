"""The table [openlineage]: where events go, what turns them on, and what is wrong with bad ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tranche.errors import ConfigError
from tranche.model.project import OpenLineageSettings, Settings
from tranche.projects.config import parse_settings

ROOT = Path("/work/shop")
HTTP = """\
[openlineage]
namespace = "prod"

[openlineage.transport]
type = "http"
url = "https://lineage.example.com"
timeout = 2.5
auth = { type = "api_key", apiKey = "${LINEAGE}" }
custom_headers = { "X-Who" = "some-body" }
"""


def settings(text: str, target: str | None = None, **env: str) -> Settings:
    return parse_settings(text, ROOT, target, env)


def test_it_is_off_unless_something_says_where_events_go() -> None:
    assert settings("").openlineage is None
    assert settings("[openlineage]\nnamespace = 'prod'\n").openlineage is None


def test_a_transport_is_as_the_client_takes_it() -> None:
    found = settings(HTTP, LINEAGE="a-long-key")
    assert found.openlineage == OpenLineageSettings(
        namespace="prod",
        transport={
            "type": "http",
            "url": "https://lineage.example.com",
            "timeout": 2.5,
            "auth": {"type": "api_key", "apiKey": "a-long-key"},
            "custom_headers": {"X-Who": "some-body"},
        },
    )
    # Whoever reads messages learns neither.
    assert found.secrets == {"a-long-key", "some-body"}
    assert "a-long-key" not in repr(found)


@pytest.mark.parametrize(
    ("env", "namespace"),
    [
        ({"OPENLINEAGE_URL": "http://lineage"}, "shop"),
        ({"OPENLINEAGE_CONFIG": "/etc/openlineage.yml"}, "shop"),
        ({"OPENLINEAGE__TRANSPORT__TYPE": "console"}, "shop"),
        ({"OPENLINEAGE_URL": "http://lineage", "OPENLINEAGE_NAMESPACE": "prod"}, "prod"),
        ({"OPENLINEAGE_URL": ""}, None),
        ({"OPENLINEAGE_NAMESPACE": "prod"}, None),
        ({"OPENLINEAGE_URL": "http://lineage", "OPENLINEAGE_DISABLED": "true"}, None),
        ({"OPENLINEAGE_URL": "http://lineage", "OPENLINEAGE_DISABLED": "false"}, "shop"),
    ],
)
def test_the_environment_of_the_client_counts(env: dict[str, str], namespace: str | None) -> None:
    found = settings("", **env).openlineage
    assert found == (None if namespace is None else OpenLineageSettings(namespace=namespace))


def test_it_can_be_forbidden_and_is_checked_all_the_same() -> None:
    env = {"LINEAGE": "a-long-key", "OPENLINEAGE_DISABLED": "True"}
    assert settings(HTTP, **env).openlineage is None
    with pytest.raises(ConfigError):
        settings(HTTP.replace("timeout", "tmeout"), **env)


def test_secrets_of_the_environment_are_known() -> None:
    found = settings(
        "",
        OPENLINEAGE_URL="http://me:hunter22@lineage",
        OPENLINEAGE_API_KEY="first-key",
        OPENLINEAGE__TRANSPORT__AUTH='{"type": "api_key", "apiKey": "other-key"}',
    )
    assert found.secrets == {"hunter22", "first-key", "other-key"}


def test_files_lie_in_the_project() -> None:
    text = "[openlineage.transport]\ntype = 'file'\nlog_file_path = '{}'\nappend = true\n"
    for given, path in (
        ("events.jsonl", "/work/shop/events.jsonl"),
        ("/var/log/events", "/var/log/events"),
        ("s3://bucket/events", "s3://bucket/events"),
    ):
        found = settings(text.format(given)).openlineage
        assert found is not None and found.transport is not None
        assert found.transport["log_file_path"] == path


def test_a_target_with_a_type_has_a_transport_of_its_own() -> None:
    text = (
        "[openlineage]\ncode = false\n"
        "[openlineage.transport]\ntype = 'file'\nlog_file_path = 'x'\n"
        "[targets.prod.openlineage]\nnamespace = 'prod'\n"
        "[targets.prod.openlineage.transport]\ntype = 'console'\n"
        "[targets.dev.openlineage.transport]\nlog_file_path = 'y'\n"
    )
    prod = settings(text, "prod").openlineage
    assert prod == OpenLineageSettings(namespace="prod", transport={"type": "console"}, code=False)
    dev = settings(text, "dev").openlineage
    assert dev is not None
    assert dev.transport == {"type": "file", "log_file_path": "/work/shop/y"}


def test_several_transports_and_those_of_others() -> None:
    text = (
        "[openlineage.transport]\ntype = 'composite'\n"
        "[openlineage.transport.transports.a]\ntype = 'file'\nlog_file_path = 'x'\n"
        "[openlineage.transport.transports.b]\ntype = 'my.module.Transport'\nanything = [1, '${X}']\n"
    )
    found = settings(text, X="y").openlineage
    assert found is not None and found.transport is not None
    assert found.transport["transports"] == {
        "a": {"type": "file", "log_file_path": "/work/shop/x"},
        "b": {"type": "my.module.Transport", "anything": [1, "y"]},
    }


T = "[openlineage.transport]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[openlineage]\nname = 'x'", "tranche.toml:2: unknown setting 'openlineage.name'; did you mean 'namespace'?"),
        ("[openlineage]\nnamespace = 5", "tranche.toml:2: openlineage.namespace is 5; give a text in quotes"),
        ("[openlineage]\ncode = 'no'", "tranche.toml:2: openlineage.code is 'no'; give true or false"),
        ("[openlineage]\ntransport = 'http'", "tranche.toml:2: openlineage.transport is no table; write [openlineage.transport]"),
        (f"{T}url = 'http://x'", "tranche.toml:1: openlineage.transport has no type; use http, async_http, file, console, composite, "),
        (f"{T}type = 'htp'", "tranche.toml:2: unknown type 'htp' of openlineage.transport; did you mean 'http'?"),
        (f"{T}type = 'zzz'", "tranche.toml:2: unknown type 'zzz' of openlineage.transport; use http, "),
        (f"{T}type = 'http'", "tranche.toml:1: openlineage.transport of type http has no url; add url = …"),
        (f"{T}type = 'http'\nurl = 'lineage:5000'", "tranche.toml:3: openlineage.transport.url is no address; write it as https://lineage.example.com"),
        (f"{T}type = 'http'\nurl = 'http://x'\ntimeut = 5", "tranche.toml:4: unknown setting 'openlineage.transport.timeut'; did you mean 'timeout'?"),
        (f"{T}type = 'http'\nurl = 'http://x'\ntimeout = '5'", "tranche.toml:4: openlineage.transport.timeout is '5'; give a number above 0"),
        (f"{T}type = 'http'\nurl = 'http://x'\nverify = 1", "tranche.toml:4: openlineage.transport.verify is 1; give true or false"),
        (f"{T}type = 'http'\nurl = 'http://x'\nauth = 'key-123'", "tranche.toml:4: openlineage.transport.auth is no table; write it as a table, {{ name = … }}".replace("{{", "{").replace("}}", "}")),
        (f"{T}type = 'http'\nurl = 'http://x'\nauth = {{ apiKey = '${{NONE}}' }}", "tranche.toml:4: openlineage.transport.auth uses the environment variable 'NONE', which is not set; "),
        (f"{T}type = 'http'\nurl = 'http://x'\ncompression = 'zip'", "tranche.toml:4: openlineage.transport.compression is 'zip'; use gzip, or leave it out"),
        (f"{T}type = 'http'\nurl = 'http://x'\nretry = {{ total = 2026-05-16 }}", "tranche.toml:4: openlineage.transport.retry holds a date; give a text in quotes"),
        (f"{T}type = 'file'", "tranche.toml:1: openlineage.transport of type file has no log_file_path; add log_file_path = …"),
        (f"{T}type = 'composite'\ntransports = []", "tranche.toml:3: openlineage.transport.transports names none; give a list of tables, or a table of tables, each with a type"),
        (f"{T}type = 'composite'\ntransports = [{{ type = 'fle' }}]", "tranche.toml"),
        ("[targets.prod.openlineage]\nnam = 'x'", "tranche.toml:2: unknown setting 'targets.prod.openlineage.nam'; use namespace, transport, code"),
    ],
)  # fmt: skip
def test_bad_settings_are_located(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(text)
    assert str(caught.value).startswith(message)
    assert "key-123" not in str(caught.value)
