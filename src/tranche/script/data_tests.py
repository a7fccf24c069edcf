"""`data_test unique order_id`."""

from __future__ import annotations

from tranche.model.asset import ColumnRef, LakeTable
from tranche.model.data_test import (
    AcceptedValues,
    DataTest,
    NotNull,
    Relationship,
    Rule,
    ScriptTest,
    Unique,
)
from tranche.script.materialize import column
from tranche.script.words import Malformed, Words, read_words, split_list, unknown

_RULES = ("unique", "not_null", "accepted_values", "relationships")
_FORMS = {
    "unique": "data_test unique <column>",
    "not_null": "data_test not_null <column>",
    "accepted_values": "data_test accepted_values <column> = a,b,c",
    "relationships": "data_test relationships <column> -> <uri>.<column>",
}


def parse_data_test(text: str, line: int) -> DataTest:
    """
    >>> str(parse_data_test("accepted_values status = paid, open", 3))
    'accepted_values status = paid,open'
    """
    body, severity = _severity(text)
    name, _, rest = body.strip().partition(" ")
    if not name:
        raise Malformed("'data_test' names no test", f"use {', '.join(_RULES)}, or a script")
    rule = _rule(name, rest.strip())
    return DataTest(rule, "warn" if severity == "warn" else "error", line)


def _severity(text: str) -> tuple[str, str | None]:
    body, found, value = text.rpartition("severity=")
    if not found or (body and not body[-1].isspace()):
        return text, None
    words: Words = read_words(f"severity={value}")
    if words.plain:
        raise Malformed(f"unexpected {words.plain[0]!r} after severity", "put severity last")
    return body, words.choice("severity", ("warn", "error"))


def _rule(name: str, rest: str) -> Rule:
    match name:
        case "unique":
            return Unique(_column(name, rest))
        case "not_null":
            return NotNull(_column(name, rest))
        case "accepted_values":
            subject, equals, values = rest.partition("=")
            if not equals:
                raise _form(name)
            return AcceptedValues(_column(name, subject.strip()), split_list(values, name))
        case "relationships":
            subject, arrow, target = rest.partition("->")
            if not arrow:
                raise _form(name)
            return Relationship(_column(name, subject.strip()), _of_table(target.strip()))
        case _ if rest:
            raise unknown("test", name, _RULES, "data_test")
        case _:
            return ScriptTest(name)


def _of_table(text: str) -> ColumnRef:
    found = column(text)
    if not isinstance(found.asset, LakeTable):
        raise Malformed(
            f"{found.asset} is a file set, and 'relationships' looks into a table of a lake",
            "write lake://<lake>/<table>.<column>",
        )
    return found


def _column(name: str, text: str) -> str:
    if not text or any(character.isspace() or character == "," for character in text):
        raise _form(name)
    return text


def _form(name: str) -> Malformed:
    return Malformed(f"'data_test {name}' does not parse", f"write {_FORMS[name]}")
