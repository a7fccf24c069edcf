"""Functions of texts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from tranche.script.duckdb.calls import (
    constant_number,
    constant_text,
    declined,
    function,
    said,
    templates,
)
from tranche.script.duckdb.cases import lowered, unless_unlike
from tranche.script.duckdb.operators import as_text
from tranche.script.duckdb.pieces import Piece, literal, refused
from tranche.script.duckdb.regex import Pattern, java_pattern, java_replacement
from tranche.script.duckdb.rules import guarded, only, rule, say

templates(
    "string",
    ("replace", "replace({0}, {1}, {2})"),
    ("lpad", "lpad({0}, {1}, {2})"),
    ("rpad", "rpad({0}, {1}, {2})"),
    ("md5", "md5({0})"),
    ("sha256", "sha2({0}, 256)"),
)
templates(
    "boolean",
    ("starts_with prefix", "startswith({0}, {1})"),
    ("ends_with suffix", "endswith({0}, {1})"),
)
templates(
    "bigint",
    ("strlen", "CAST(octet_length({0}) AS BIGINT)"),
    ("instr strpos", "CAST(instr({0}, {1}) AS BIGINT)"),
)
declined("characters may be made of several; turn them around before", "reverse")
declined("it counts bytes in DuckDB; compare in another way", "levenshtein editdist3 hamming")
declined("formats differ; join texts with ||", "format printf")
declined("Spark cuts it to 8 bits; write the character", "chr")
declined("it is another hash in Spark; use md5 or sha256", "hash")
declined("its rows would be others each time; take a column", "random uuid gen_random_uuid setseed")
declined(
    "JSON is not translated; read it with columns => {…}",
    "json_extract json_extract_string json_object json_array to_json json json_keys json_array_length json_type json_valid from_json",
)


_UNLIKE_UPPER = "ŉƛǰɤΐΰև\u1c8aẖ-ẚὐὒὔὖᾀ-ᾯᾲᾳᾴᾶᾷᾼῂῃῄῆῇῌῒΐῖῗῢΰῤῦῧῲῳῴῶῷῼ\ua7cd\ua7dbﬀ-ﬆﬓ-ﬗ𐵰-𐶅"
"""Letters, all of them rare, whose other case is one letter for DuckDB and several for Spark, or
that only one of them knows."""


_SPACES = r"' \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000'"
"""What DuckDB trims if nothing is said; tabs and ends of lines are not among it."""
_MOST_GROUPS = 6
"""With those that are added, each has a number of one digit."""


@function(1, 1, "lower", "lcase", "upper", "ucase")
def cased(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    """DuckDB knows one character for each; Spark makes two of ß, and others."""
    [value] = said(arguments)
    if str(node.this).lower() in ("lower", "lcase"):
        return lowered(value)
    text = f"upper(replace({value.text}, 'ß', 'ẞ'))"
    return unless_unlike(value, _UNLIKE_UPPER, text)


@function(1, 2, "trim", "ltrim", "rtrim")
def trimmed(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    word = str(node.this).lower()
    value, *rest = said(arguments)
    side = {"trim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}[word]
    what = rest[0].text if rest else _SPACES
    return Piece(f"trim({side} {what} FROM {value.text})", "string")


@function(1, 1, "length", "len")
def length(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    """Of a text or of a list; which of them it is, Spark knows when it plans the query."""
    [value] = said(arguments)
    if value.type is not None:
        word = "size" if value.type == "list" else "length"
        return Piece(f"CAST({word}({value.text}) AS BIGINT)", "bigint")
    # Each side stands for both types, and only one of them is left in the plan.
    whole = f"to_variant_object(named_struct('v', {value.text}))"
    text = (
        f"if({value.kind} = 'string', length(CAST({value.text} AS STRING)),"
        f" size(variant_get({whole}, '$.v', 'array<variant>')))"
    )
    said_ = guarded(
        node,
        text,
        [f"NOT ({value.kind} = 'string' OR {value.kind} LIKE 'array<%')"],
        "a length of something else than a text or a list",
        "write strlen(x) for bytes, cardinality(x) for a map, or cast it to VARCHAR",
    )
    return Piece(f"CAST({said_} AS BIGINT)", "bigint")


@function(1, 1, "char_length", "character_length")
def char_length(_node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    return Piece(f"CAST(length({say(arguments[0]).text}) AS BIGINT)", "bigint")


@function(1, 9, "concat")
def concat(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    """Leaves out what is NULL."""
    return Piece(f"concat_ws('', {_texts(node, arguments)})", "string")


@function(2, 9, "concat_ws")
def concat_ws(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    return Piece(f"concat_ws({_texts(node, arguments)})", "string")


def _texts(node: exp.Expr, arguments: Sequence[exp.Expr]) -> str:
    return ", ".join(as_text(node, piece) for piece in said(arguments))


@function(2, 2, "contains")
def contains(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    value, part = said(arguments)
    if value.type in ("list", "map", "struct"):
        raise refused(node, "contains of a list", "use list_contains")
    return Piece(f"contains({value.text}, {part.text})", "boolean")


@rule(exp.StartsWith)
def starts_with(node: exp.Expr) -> Piece:
    return Piece(f"startswith({say(node.this).text}, {say(node.expression).text})", "boolean")


@function(2, 2, "left", "right")
def end_of(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    word = str(node.this).lower()
    number = constant_number(arguments[1])
    if number is None or number < 0:
        raise refused(node, f"{word} with a computed or negative length", "use substring")
    return Piece(f"{word}({say(arguments[0]).text}, {number})", "string")


@function(2, 2, "repeat")
def repeat(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    value, count = said(arguments)
    if value.type == "list":
        raise refused(node, "repeat of a list", "write the list")
    return Piece(f"repeat({value.text}, CAST({count.text} AS INT))", "string")


@function(2, 3, "substring", "substr")
def substring(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    start = constant_number(arguments[1])
    size = constant_number(arguments[2]) if len(arguments) > 2 else None
    if start is None or start == 0 or (size is not None and size < 0):
        raise refused(
            node,
            "substring from 0, from a computed place or of a negative length",
            "start at 1 or more, or at -1 or less",
        )
    if start < 0 and len(arguments) > 2 and size is None:
        raise refused(node, "substring from the end with a computed length", "start at 1 or more")
    value = say(arguments[0]).text
    if len(arguments) == 2:
        return Piece(f"substring({value}, {start})", "string")
    if size is not None:
        return Piece(f"substring({value}, {start}, {size})", "string")
    count = say(arguments[2]).text
    less = "raise_error('substring has a negative length')"
    return Piece(
        f"substring({value}, {start}, CASE WHEN {count} < 0 THEN {less}"
        f" ELSE CAST({count} AS INT) END)",
        "string",
    )


@function(2, 2, "string_split", "split", "str_split", "string_to_array")
def split(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    separator = constant_text(node, arguments[1], "the separator")
    if not separator:
        raise refused(node, "a separator that is empty", "use substring")
    pattern = "".join(
        f"\\{c}" if re.match(r"[^\w\s]", c, re.ASCII) and ord(c) < 128 else c for c in separator
    )
    return Piece(
        f"split({say(arguments[0]).text}, {literal(pattern)}, -1)", "list", element="string"
    )


@function(3, 3, "split_part")
def split_part(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    number = constant_number(arguments[2])
    if number is None or number == 0 or not constant_text(node, arguments[1], "the separator"):
        raise refused(node, "split_part with a computed or no place", "write the place, from 1 on")
    value, separator = (piece.text for piece in said(arguments[:2]))
    return Piece(f"split_part({value}, {separator}, {number})", "string")


@function(3, 3, "translate")
def translate(_node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    return Piece(f"translate({', '.join(piece.text for piece in said(arguments))})", "string")


@rule(exp.RegexpLike)
def tilde(node: exp.Expr) -> Piece:
    """`~` is for the whole text."""
    only(node, "this", "expression", "full_match")
    return _matches(node, node.this, node.expression, "", whole=True)


@function(2, 3, "regexp_matches", "regexp_full_match")
def regexp_matches(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    whole = str(node.this).lower() == "regexp_full_match"
    options = constant_text(node, arguments[2], "an option") if len(arguments) > 2 else ""
    return _matches(node, arguments[0], arguments[1], options, whole=whole)


def _matches(
    node: exp.Expr, value: exp.Expr, pattern: exp.Expr, options: str, *, whole: bool
) -> Piece:
    text = java_pattern(node, constant_text(node, pattern, "the pattern"), options).text
    if whole:
        text = f"\\A(?:{text})\\z"
    return Piece(f"{say(value).tight} RLIKE {literal(text)}", "boolean", loose=True)


@function(3, 4, "regexp_replace")
def regexp_replace(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    """Replaces the first match, or all with the option g."""
    options = constant_text(node, arguments[3], "an option") if len(arguments) > 3 else ""
    every = "g" in options
    pattern = constant_text(node, arguments[1], "the pattern")
    found = java_pattern(node, pattern, options.replace("g", ""))
    put = constant_text(node, arguments[2], "the replacement")
    value = say(arguments[0]).text
    if every:
        return _replaced(node, value, found, put)
    groups = len(found.groups)
    if groups > _MOST_GROUPS:
        raise refused(
            node, f"regexp_replace with more than {_MOST_GROUPS} groups", "use (?:…) for some"
        )
    first = rf"\A([\s\S]*?)({found.text})([\s\S]*)\z"
    text = f"$1{java_replacement(node, put, found, 2)}${groups + 3}"
    return Piece(f"regexp_replace({value}, {literal(first)}, {literal(text)})", "string")


def _replaced(node: exp.Expr, value: str, found: Pattern, put: str) -> Piece:
    """All matches replaced."""
    if found.may_be_empty and not found.is_empty:
        # RE2 takes no empty match right behind another one.
        raise refused(
            node, "a pattern that may match nothing, with the option g", "use + instead of *"
        )
    text = java_replacement(node, put, found, 1)
    return Piece(
        f"regexp_replace({value}, {literal(f'({found.text})')}, {literal(text)})", "string"
    )


@function(2, 4, "regexp_extract")
def regexp_extract(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    return _extracted(node, arguments, "regexp_extract", "string")


@function(2, 4, "regexp_extract_all")
def regexp_extract_all(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    return _extracted(node, arguments, "regexp_extract_all", "list")


def _extracted(node: exp.Expr, arguments: Sequence[exp.Expr], word: str, type_: str) -> Piece:
    group = constant_number(arguments[2]) if len(arguments) > 2 else 0
    if group is None or group < 0:
        raise refused(node, f"{word} with a computed group", "write the number of the group")
    options = constant_text(node, arguments[3], "an option") if len(arguments) > 3 else ""
    pattern = java_pattern(node, constant_text(node, arguments[1], "the pattern"), options)
    groups = pattern.groups
    if group > len(groups):
        raise refused(
            node, f"group {group} of a pattern with {len(groups)} groups", "take one that it has"
        )
    if type_ == "list" and pattern.may_be_empty and pattern.is_anchored:
        raise refused(
            node, f"{word} of ^, $ or \\b that may match nothing", "put a character beside it"
        )
    if type_ == "list" and group and groups[group - 1].may_be_missing:
        raise refused(
            node,
            f"{word} of a group that a match may go without, which is NULL in DuckDB",
            "take group 0, or put ( ) around the choice",
        )
    return Piece(
        f"{word}({say(arguments[0]).text}, {literal(pattern.text)}, {group})",
        type_,
        element="string",
    )


@function(2, 2, "string_split_regex", "str_split_regex", "regexp_split_to_array")
def split_by_pattern(node: exp.Expr, arguments: Sequence[exp.Expr]) -> Piece:
    pattern = java_pattern(node, constant_text(node, arguments[1], "the pattern"), "")
    if pattern.may_be_empty or pattern.looks_back:
        raise refused(
            node,
            "a text that is split at ^, \\b or a pattern that may match nothing",
            "split at characters",
        )
    return Piece(
        f"split({say(arguments[0]).text}, {literal(pattern.text)}, -1)", "list", element="string"
    )
