"""Keys and arguments are data: beside the text, never in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tranche.errors import KeyRejected
from tranche.model.asset import LakeTable
from tranche.model.script import Script
from tranche.model.statement import ArgumentHole, FileHole, KeyHole, Text
from tranche.script.binding import Bound, Values, bind, file_path, quoted, quoted_name
from tranche.script.lakes import Lakes
from tranche.script.sql import read_sql_script

ReadScript = Callable[[str], Script]
Faults = Callable[[str], list[str]]
SCRIPT = """\
-- pipeline
-- partitioned dynamic key="$.tenant"
-- materialize lake://main/out
-- $cutoff (date)
-- $name (string)
SELECT '{partition}', $partition, $cutoff, $name -- '{partition}' :name
FROM orders
WHERE tenant = "{partition}" AND note <> 'it\\'s -- {a}'
"""
NASTY = [
    "x' OR '1'='1",
    'say "hi"',
    "back\\slash\\",
    "line\nbreak",
    "{partition}",
    "-- comment",
    "/* comment */",
    "; DROP TABLE orders",
    ":_tranche_key",
    "${env:HOME}",
    "日本語 😀",
    "x" * 500,
]


def no_table(_: object) -> str:
    return "<table>"


def bound(script: Script, key: str | None, **arguments: str | None) -> Bound:
    types = {argument.name: argument.type for argument in script.annotations.arguments}
    assert script.query is not None
    return bind(script.query, Values(key, arguments, types), table=no_table, files=no_table)


def nasty_script() -> Script:
    found = read_sql_script("s", "s.sql", SCRIPT, Lakes(frozenset({"main"}), "main")).script
    assert found is not None
    return found


@pytest.mark.parametrize("key", NASTY)
def test_a_key_stays_data(key: str) -> None:
    plain = bound(nasty_script(), "plain", cutoff="2026-01-01", name="n")
    found = bound(nasty_script(), key, cutoff="2026-01-01", name=key)
    assert found.text == plain.text
    assert found.parameters == {
        "_tranche_key": key,
        "_tranche_argument_cutoff": "2026-01-01",
        "_tranche_argument_name": key,
    }


@given(st.text(min_size=1), st.text())
def test_the_text_does_not_depend_on_any_value(key: str, name: str) -> None:
    script = nasty_script()
    plain = bound(script, "plain", cutoff="2026-01-01", name="n")
    found = bound(script, key, cutoff="2026-01-01", name=name)
    assert found.text == plain.text
    assert found.parameters["_tranche_key"] == key
    assert found.parameters["_tranche_argument_name"] == name


def test_values_get_their_type() -> None:
    found = bound(nasty_script(), "k", cutoff="2026-01-01", name="n")
    assert found.text == (
        "SELECT :_tranche_key, :_tranche_key, CAST(:_tranche_argument_cutoff AS DATE),"
        " :_tranche_argument_name -- '{partition}' :name\nFROM <table>\n"
        "WHERE tenant = :_tranche_key AND note <> 'it\\'s -- {a}'"
    )


def test_what_is_not_given_is_null_of_its_type() -> None:
    found = bound(nasty_script(), None, cutoff=None, name=None)
    assert found.text.startswith(
        "SELECT CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS DATE), CAST(NULL AS STRING)"
    )
    assert found.parameters == {}


def test_an_explicit_declaration_of_the_partition_wins(script: ReadScript) -> None:
    text = (
        "-- pipeline\n-- partitioned daily\n-- $partition (date)\nSELECT $partition, '{partition}'"
    )
    found = bound(script(text), "2026-05-16", partition="2026-05-16")
    assert found.text == "SELECT CAST(:_tranche_argument_partition AS DATE), :_tranche_key"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (LakeTable("main", "orders"), "`main`.`default`.`orders`"),
        (LakeTable("main", "o`r; --", "r.w"), "`main`.`r.w`.`o``r; --`"),
    ],
)
def test_names_are_quoted(table: LakeTable, expected: str) -> None:
    assert quoted(table) == expected
    assert quoted_name("a`b") == "`a``b`"


def path(key: str | None, *parts: Text | KeyHole | ArgumentHole, **arguments: str | None) -> str:
    return file_path(FileHole("json", parts), Values(key, arguments, {}))


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("2026-05-16", "data/2026-05-16.json"),
        ("2026/05/16", "data/2026/05/16.json"),
        ("a*b?[c]{d,e}^\\", "data/a\\*b\\?\\[c\\]\\{d,e\\}\\^\\\\.json"),
        ("日本 語'\"", "data/日本 語'\".json"),
        ("...", "data/....json"),
        ("{partition}", "data/\\{partition\\}.json"),
        ("x" * 500, f"data/{'x' * 500}.json"),
    ],
)
def test_a_key_in_a_path_means_itself(key: str, expected: str) -> None:
    assert path(key, Text("data/"), KeyHole(), Text(".json")) == expected


@pytest.mark.parametrize(
    "key", ["..", "../x", "a/../b", ".", "a/./b", "a//b", "/etc/passwd", "a/", "s3a://b/c"]
)
def test_a_key_cannot_leave_its_place(key: str) -> None:
    for before in ((Text("data/"),), ()):
        with pytest.raises(KeyRejected) as caught:
            path(key, *before, KeyHole())
        assert str(caught.value) == (
            f"the key {key!r} cannot be part of a path; a path takes no empty, '.' or '..' part"
        )


def test_a_path_needs_its_key() -> None:
    with pytest.raises(KeyRejected) as caught:
        path(None, Text("data/"), KeyHole())
    assert str(caught.value) == (
        "the run has no key, and a path in the script needs it; run it with one"
    )


def test_an_argument_may_be_a_place_of_its_own_but_only_at_the_beginning() -> None:
    for place in ("/data/x*", "s3a://bucket/x*", "file:/x*", "x*"):
        assert path(None, ArgumentHole("p"), p=place) == place.replace("*", "\\*")
    for bad in ("/data/../x", "../x", "", "/"):
        with pytest.raises(KeyRejected, match=r"the argument \$p"):
            path(None, ArgumentHole("p"), p=bad)
    with pytest.raises(KeyRejected):
        path(None, Text("data/"), ArgumentHole("p"), p="/x")


HEAD = "-- pipeline\n-- partitioned daily\n-- $d (string)\n"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("read_json('a.json')", FileHole("json", (Text("a.json"),), (), 4)),
        ("READ_CSV('a.csv', header => true, sep => ';')", FileHole("csv", (Text("a.csv"),), (("header", "true"), ("sep", ";")), 4)),
        ("read_parquet($d || '/' || '{partition}')", FileHole("parquet", (ArgumentHole("d"), Text("/"), KeyHole()), (), 4)),
        ("read_json('a/' || $partition, schema => 'id long, t string', samplingRatio => 0.5)", FileHole("json", (Text("a/"), KeyHole()), (("schema", "id long, t string"), ("samplingRatio", "0.5")), 4)),
        ("read_json(\"a\", multiLine = TRUE, mode := 'FAILFAST')", FileHole("json", (Text("a"),), (("multiLine", "true"), ("mode", "FAILFAST")), 4)),
        ("read_json('a/{x,y}/*.json')", FileHole("json", (Text("a/{x,y}/*.json"),), (), 4)),
    ],
)  # fmt: skip
def test_file_functions(call: str, expected: FileHole, script: ReadScript) -> None:
    found = script(f"{HEAD}SELECT * FROM {call} AS t").query
    assert found is not None
    assert found.parts == (Text("SELECT * FROM "), expected, Text(" AS t"))


FORM = "write it as read_json('folder/' || '{partition}' || '.json', option => 'value')"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("read_json()", f"read_json: the path is made of literals, '{{partition}}' and $arguments; {FORM}"),
        ("read_json(path)", f"read_json: the path is made of literals, '{{partition}}' and $arguments; {FORM}"),
        ("read_json('a' || b)", f"read_json: the path is made of literals, '{{partition}}' and $arguments; {FORM}"),
        ("read_json('a' + 'b')", f"read_json: the path is made of literals joined by ||, then options; {FORM}"),
        ("read_json('a', true)", f"read_json: an option does not parse; {FORM}"),
        ("read_json('a', header => x)", f"read_json: the option header takes a text, a number, true or false; {FORM}"),
        ("read_json('a/{partition}.json')", "the token stands inside the longer literal 'a/{partition}.json'; write 'a/' || '{partition}' || '.json'"),
        ("read_json('a/' || $nope)", "$nope is not declared; add the line $nope (<type>) at the top"),
    ],
)  # fmt: skip
def test_bad_file_functions(call: str, message: str, faults: Faults) -> None:
    assert faults(f"{HEAD}SELECT 1\nFROM {call}") == [f"s.sql:5: {message}"]
