"""Which columns the names of folders tell: for Spark, where it reads them as DuckDB means them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql.types import DateType, IntegralType, StringType

from tranche.errors import EngineError
from tranche.lakes.ducklake.metadata import Contents, PartitionField
from tranche.lakes.ducklake.paths import NULL_FOLDER, below, segments, spelling, value_of

_EXACT = (StringType, IntegralType, DateType)
"""What folders tell as exactly as files do."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the names of a folder tell of the files in it."""

    names: tuple[str, ...] = ()
    """The columns whose values Spark takes from them."""
    in_bytes: bool = False
    """Whether it takes each byte of UTF-8 in these for a sign of its own."""
    values: tuple[tuple[str, str | None], ...] = ()
    """The columns whose values are given here, since Spark would read them otherwise."""


def told(found: Contents, folder: str, mapping: int | None, layout: int | None) -> Told:
    """What a folder tells of files that were registered so, or written with this layout."""
    mapped = found.mappings.get(mapping, ()) if mapping is not None else ()
    needed = {each.source.lower() for each in mapped if each.in_path}
    root = found.version.path
    written = segments(f"{folder[len(root) :]}/")
    names = [name.lower() for name, _ in written]
    spellings = {spelling(text) for _, text in written}
    in_bytes = "bytes" in spellings
    for_spark = (
        below(f"{folder}/", root)
        and bool(written)
        and len(set(names)) == len(names)
        and None not in spellings
        and (not in_bytes or all(text.isascii() for _, text in written))
        # A text may be called so too, which stands in the file itself.
        and (needed or all(text != NULL_FOLDER for _, text in written))
        and needed <= set(names)
        and _fits(found, mapping, layout, written, needed)
    )
    if for_spark:
        return Told(tuple(name for name, _ in written), in_bytes)
    if not needed:
        return Told()
    every = {name.lower(): text for name, text in segments(f"{folder}/")}
    missing = [name for name in needed if name not in every]
    if missing:
        raise EngineError(
            f"files in {folder} have {missing[0]} in the name of no folder, where the catalog has"
            " it",
            "register the files again where they were",
        )
    return Told(values=tuple((name, value_of(every[name])) for name in sorted(needed)))


def _fits(
    found: Contents,
    mapping: int | None,
    layout: int | None,
    written: Sequence[tuple[str, str]],
    needed: set[str],
) -> bool:
    """Whether what folders are called is the columns that it should be, and nothing else."""
    if needed:
        others = {name.lower() for name, _ in written} - needed
        mapped = found.mappings.get(mapping or 0, ())
        return not others & {each.source.lower() for each in mapped}
    fields = found.layouts.get(layout, ()) if layout is not None else ()
    if mapping is not None or len(fields) != len(written):
        return False
    return all(
        _field_fits(found, field, name) for field, (name, _) in zip(fields, written, strict=True)
    )


def _field_fits(found: Contents, field: PartitionField, name: str) -> bool:
    held = found.version.column(name)
    if field.transform != "identity":
        return held is None
    return held is not None and held.id == field.column and isinstance(held.spark, _EXACT)
