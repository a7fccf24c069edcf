"""The rows of several keys from one query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from re import compile as compiled
from re import escape, sub
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tranche.errors import RangeRefused, RangeTooLarge, StatementRejected
from tranche.lakes.implied import Implied
from tranche.lakes.parameters import asked
from tranche.model.size import parse_size, shown_size
from tranche.model.statement import ArgumentHole, FileHole, KeyHole, Statement
from tranche.script.ranges.marks import FILE_KEY
from tranche.script.ranges.ranged import ranged

if TYPE_CHECKING:
    from tranche.lakes.execution import Execution

_MANY = 100
"""Fewer keys are one job, whatever they read."""
_READ = compiled(r"Relation(?:V2)?\s*\[[^\n]*Statistics\(sizeInBytes=([^,)]+)")
_GLOBS = {"*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", "[": "[", "]": "]", "^": "^"}
"""What characters of a path's pattern mean in a regular expression."""


def range_rows(execution: Execution, query: Statement, keys: Sequence[str]) -> DataFrame:
    """The rows of all keys, each with its key; the first way that Spark knows is taken."""
    found = ranged(query, execution.key_type)
    reason = found.reason
    implied = Implied(execution, keys)
    for form in found.forms:
        try:
            if not all(map(implied.tells_key, form.computed)):
                continue
            if not all(map(implied.cuts_time, form.banded)):
                continue
            if form.joins:
                implied.make_view()
            rows = execution.sql(form.statement, implied=implied.text)
            check_size(execution, keys)
            return rows
        except StatementRejected as error:
            reason = reason or f"Spark cannot ask for several keys: {error.what}"
    if found.forms:
        # If it refuses one key too, the statement itself is wrong, and that is what one hears of.
        execution.check_for(query, keys[0])
    raise RangeRefused(reason or "it cannot be asked for several keys")


def check_size(execution: Execution, keys: Sequence[str]) -> None:
    """Refuses keys that would read too much at once, from what tables say of their files."""
    most = execution.settings.most_bytes
    if len(keys) < _MANY:
        return
    sent = execution.sent[-1]
    plan = asked(execution.session, f"EXPLAIN COST {sent.text}", dict(sent.parameters)).collect()
    size = bytes_read(plan[0][0])
    if size > most:
        raise RangeTooLarge(
            f"{len(keys):,} keys would read about {shown_size(size)} at once,"
            f" and a job reads {shown_size(most)} at most",
            min(len(keys), -(-size // most)),
        )


def bytes_read(plan: str) -> int:
    """What a plan reads from tables and files, as Spark estimates it.

    >>> first = "Filter a, Statistics(sizeInBytes=9.0 GiB)\\n"
    >>> second = "+- RelationV2[a#1] main.t, Statistics(sizeInBytes=2.0 MiB, rowCount=7)\\n"
    >>> bytes_read(f"{first}{second}== Physical Plan ==")
    2097152
    """
    optimized, _, _ = plan.partition("== Physical Plan ==")
    return sum(parse_size(found) or 0 for found in _READ.findall(optimized))


def range_files(
    execution: Execution, hole: FileHole, paths: Sequence[tuple[str, str]]
) -> DataFrame:
    """The rows of the files of all keys, each with its key, from one scan.

    `paths` has each key with its path. The columns are those of all files together.
    """
    given = {name.lower() for name, _ in hole.options}
    if hole.format == "csv" and "schema" not in given:
        raise RangeRefused("files of CSV without a schema may have their columns in another order")
    frame = execution.load(hole, [path for _, path in paths], merge=hole.format == "parquet")
    pairs = list(owners(frame.inputFiles(), paths))
    marks = ", ".join(f"(:f{n}, :k{n})" for n in range(len(pairs)))
    values = {f"f{n}": file for n, (file, _) in enumerate(pairs)}
    values |= {f"k{n}": key for n, (_, key) in enumerate(pairs)}
    if not pairs:
        return frame.select("*", F.lit(None).cast("string").alias(FILE_KEY)).where(F.lit(False))
    known = asked(
        execution.session,
        f"SELECT * FROM VALUES {marks} AS t(_tranche_file, {FILE_KEY})",  # noqa: S608
        values,
    )
    # Spark writes the same place with one slash or with three.
    path = F.regexp_replace(F.col("_metadata.file_path"), "^file:/+", "/").alias("_tranche_path")
    joined = frame.select("*", path).join(
        F.broadcast(known), F.col("_tranche_path") == F.col("_tranche_file"), "left"
    )
    # Whatever belongs to no key would be lost without a word.
    lost = F.raise_error(F.concat(F.lit("no key has the file "), F.col("_tranche_path")))
    sound = F.when(F.col(FILE_KEY).isNull(), lost.cast("boolean")).otherwise(F.lit(True))
    return joined.where(sound).drop("_tranche_path", "_tranche_file")


def owners(files: Iterable[str], paths: Sequence[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Each file with the keys to whose path it belongs.

    >>> paths = [("a", "/d/a"), ("b", "/d/b*")]
    >>> list(owners(["file:///d/a/x.json", "file:///d/b%20c/y.json"], paths))
    [('/d/a/x.json', 'a'), ('/d/b%20c/y.json', 'b')]
    """
    patterns = [(key, compiled(_pattern(path))) for key, path in paths]
    for file in files:
        place = _plain(file)
        for key, pattern in patterns:
            if pattern.fullmatch(unquote(place)):
                yield place, key


def _plain(path: str) -> str:
    """A path without the scheme of local files."""
    return sub("^file:/+", "/", path)


def _pattern(path: str) -> str:
    """What a path of Spark's readers matches: itself, and all that lies below it.

    >>> _pattern("/d/b*/[x]")
    '/d/b[^/]*/[x](?:/.*)?'
    """
    found, depth = "", 0
    characters = iter(_plain(path))
    for character in characters:
        depth += (character == "{") - (character == "}")
        if character == "\\":
            found += escape(next(characters, ""))
        elif character == "," and depth:
            found += "|"
        else:
            found += _GLOBS.get(character) or escape(character)
    return f"{found.rstrip('/')}(?:/.*)?"


def takes_key(hole: FileHole, key_type: str | None) -> bool:
    """Whether the path of files depends on the key."""
    return any(
        isinstance(part, KeyHole) or (key_type is not None and part == ArgumentHole("partition"))
        for part in hole.path
    )
