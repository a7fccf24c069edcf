"""What tasks have returned, as rows in memory."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tranche.errors import ColumnsRejected, NotBuiltYet, ResultRejected
from tranche.jobs.conversion import converted, frame_kind, needed
from tranche.jobs.merge import Merge, When
from tranche.model.code import Frame
from tranche.model.output import KEY_COLUMN, Output, telling_column
from tranche.model.script import Script

Record: TypeAlias = Mapping[str, Any]
Slices: TypeAlias = dict[str | None, tuple[Record, ...]]
Part: TypeAlias = tuple[Any, ...]
"""The values of the partition columns of a row."""


@dataclass(slots=True)
class Kept:
    """Rows by asset and key, and what is known of them."""

    tables: dict[str, Slices] = field(default_factory=dict)
    schemas: dict[str, Any] = field(default_factory=dict)
    """The columns of each asset, as Arrow has them."""
    frames: dict[str, Frame] = field(default_factory=dict)
    """The kind of frame that each asset was returned as."""
    parts: dict[str, dict[str | None, set[Part]]] = field(default_factory=dict)
    """The values of partition columns that were last written for each key."""
    nothing: set[tuple[str, str | None]] = field(default_factory=set)
    """Keys of assets for which a task has returned None."""
    outputs: dict[str, Script] = field(default_factory=dict)
    """The script that makes each asset."""
    lock: threading.RLock = field(default_factory=threading.RLock)

    def split(self, rows: Any, keys: Sequence[str], output: Output | None, what: str) -> Slices:
        """The rows of each key, in a frame that was returned for them."""
        records, columns = records_of(rows)
        if output is not None and output.partition_by:
            return {None: _with_key(records, columns, keys, output.partition_by, what)}
        if not keys or (len(keys) == 1 and KEY_COLUMN not in columns):
            return {keys[0] if keys else None: tuple(records)}
        if KEY_COLUMN not in columns:
            raise ResultRejected(
                f"{what} returned rows of {len(keys)} keys, and no column says which key each is of",
                f"add the column {KEY_COLUMN!r}, or take partition instead of partitions",
            )
        found: dict[str | None, list[Record]] = {key: [] for key in keys}
        for record in records:
            key = record[KEY_COLUMN]
            if key not in found:
                raise ColumnsRejected(
                    f"{what} returned a row of the key {key!r}, which it was not called for",
                    f"return rows of {', '.join(keys[:3])}{' …' if len(keys) > 3 else ''}",
                )
            found[key].append({n: value for n, value in record.items() if n != KEY_COLUMN})
        return {key: tuple(several) for key, several in found.items()}

    def write(
        self, asset: str, rows: Any, slices: Slices, keys: Sequence[str], output: Output | None
    ) -> None:
        """Lets the rows of slices take the place of those that were there."""
        with self.lock:
            table = self.tables.setdefault(asset, {})
            columns = output.partition_by if output is not None else ()
            self.schemas[asset] = _schema(rows, columns)
            self.frames[asset] = frame_kind(rows) or "arrow"
            append = output is not None and output.mode == "append"
            for key, new in slices.items():
                old = table.get(key, ())
                if columns:
                    parts = {_part(row, columns) for row in new}
                    gone = set() if append else parts | self._sole(asset, keys)
                    kept = (row for row in old if _part(row, columns) not in gone)
                    table[key] = (*kept, *new)
                    self._give(asset, parts, keys, columns)
                else:
                    table[key] = (*old, *new) if append else tuple(new)
            if output is not None and output.replaces_all:
                self.tables[asset] = {key: self.tables[asset][key] for key in slices}

    def _sole(self, asset: str, keys: Sequence[str]) -> set[Part]:
        """The parts that were last written for these keys, and for no others."""
        known = self.parts.get(asset, {})
        own: set[str | None] = set(keys) or {None}
        held = set[Part]().union(*(parts for key, parts in known.items() if key in own))
        return held.difference(*(parts for key, parts in known.items() if key not in own))

    def _give(
        self, asset: str, parts: set[Part], keys: Sequence[str], columns: Sequence[str]
    ) -> None:
        """Gives parts to the keys that they are of, and takes them from all others."""
        known = self.parts.setdefault(asset, {})
        for key in known:
            known[key] = known[key] - parts
        values = {part: dict(zip(columns, map(_value, part), strict=True)) for part in parts}
        telling = telling_column(list(values.values()), keys)
        for key in keys or (None,):
            known[key] = {p for p in parts if telling is None or values[p][telling] == key}

    def merge(
        self, asset: str, merge: Merge, keys: Sequence[str], output: Output
    ) -> tuple[Record, ...]:
        """Carries a Merge out whose clauses are no SQL; what it is given is what changed."""
        new, _ = records_of(merge.rows)
        on, columns = _columns(merge), output.partition_by
        sliced = output.kind == "lake" and len(keys) == 1
        with self.lock:
            table = self.tables.setdefault(asset, {})
            slice_ = keys[0] if sliced else None
            sources = {_part(row, on): row for row in new}
            matched: set[Part] = set()
            for key, old in list(table.items()):
                if sliced and key != slice_:
                    continue
                kept: list[Record] = []
                for row in old:
                    source = sources.get(_part(row, on))
                    matched |= {_part(row, on)} if source is not None else set()
                    kept += _merged(row, source, merge.clauses)
                table[key] = tuple(kept)
            if any(when.match == "not_matched" for when in merge.clauses):
                added = [row for part, row in sources.items() if part not in matched]
                table[slice_] = (*table.get(slice_, ()), *added)
            if columns:
                self._give(asset, {_part(row, columns) for row in new}, keys, columns)
            self.schemas.setdefault(asset, _schema(merge.rows, ()))
            self.frames.setdefault(asset, frame_kind(merge.rows) or "arrow")
        return tuple(new)

    def read(
        self, asset: str, keys: Sequence[str | None] | None, output: Output | None
    ) -> tuple[Record, ...]:
        """The rows of some keys, or all of them."""
        with self.lock:
            table = self.tables.get(asset, {})
            if keys is None or (output is not None and not output.auto_filter):
                return tuple(row for rows in table.values() for row in rows)
            if output is not None and output.kind != "lake" and not output.partition_by:
                # An IO that divides nothing has nothing to tell keys apart by.
                return tuple(row for rows in table.values() for row in rows)
            if output is None or not output.partition_by:
                return tuple(row for key in keys for row in table.get(key, ()))
            written = [self.parts.get(asset, {}).get(key, set()) for key in keys]
            wanted = set().union(*written)
            columns = output.partition_by
            return tuple(row for row in table.get(None, ()) if _part(row, columns) in wanted)

    def frame(self, asset: str, records: Sequence[Record], kind: Frame, spark: Any) -> Any:
        """Rows as a frame; where there is no Spark, of the kind that was returned."""
        arrow = needed("pyarrow", "rows of a task")
        schema = self.schemas.get(asset)
        table = arrow.Table.from_pylist([dict(row) for row in records], schema=schema)
        if kind != "spark":
            return converted(table, kind)
        if spark is not None:
            return spark.createDataFrame(table)
        own = self.frames.get(asset, "arrow")
        return converted(table, own) if own != "spark" else table


def records_of(rows: Any) -> tuple[list[Record], list[str]]:
    """The rows of a frame, and the names of its columns."""
    table = converted(rows, "arrow")
    return table.to_pylist(), list(table.schema.names)


def _schema(rows: Any, partition_by: Sequence[str]) -> Any:
    """The columns as Arrow has them, with that of the key where it is one of the table."""
    schema = converted(rows, "arrow").schema
    if KEY_COLUMN in partition_by and KEY_COLUMN not in schema.names:
        arrow = needed("pyarrow", "rows of a task")
        return schema.append(arrow.field(KEY_COLUMN, arrow.string()))
    if KEY_COLUMN in schema.names and not partition_by:
        return schema.remove(schema.names.index(KEY_COLUMN))
    return schema


def _with_key(
    records: list[Record],
    columns: Sequence[str],
    keys: Sequence[str],
    partition_by: Sequence[str],
    what: str,
) -> tuple[Record, ...]:
    """Rows that have all partition columns; the one of the key is added where it is known."""
    for column in partition_by:
        if column in columns:
            continue
        if column != KEY_COLUMN:
            raise ColumnsRejected(
                f"{what} returned no column {column!r}, which partition_by= names",
                f"add it; the columns are {', '.join(columns)}",
            )
        if len(keys) != 1:
            raise ResultRejected(
                f"{what} was called for {len(keys)} keys, and no column says which key each row"
                " is of",
                f"add the column {KEY_COLUMN!r}, or take partition instead of partitions",
            )
        records = [{**record, KEY_COLUMN: keys[0]} for record in records]
    return tuple(records)


def _part(row: Record, columns: Sequence[str]) -> Part:
    return tuple(row.get(column) for column in columns)


def _value(value: Any) -> str | None:
    """A value of a partition column as a key would be written."""
    return None if value is None else str(value)


def _columns(merge: Merge) -> tuple[str, ...]:
    columns = (merge.on,) if isinstance(merge.on, str) else tuple(merge.on or ())
    is_sql = isinstance(merge.on, str) and merge.condition == merge.on
    if is_sql or any(when.condition is not None or when.values for when in merge.clauses):
        raise NotBuiltYet(
            "an engine in memory runs no SQL, and this Merge has some",
            "name columns in on=, or test it with a Spark session",
        )
    return columns


def _merged(row: Record, source: Record | None, clauses: Sequence[When]) -> list[Record]:
    for when in clauses:
        if when.match == "matched" and source is not None:
            return [] if when.action == "delete" else [{**row, **source}]
        if when.match == "not_matched_by_source" and source is None:
            return [] if when.action == "delete" else [row]
    return [row]
