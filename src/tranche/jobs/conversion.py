"""Frames of pandas, Polars, Arrow and Spark: which kind one is, and one kind as another.

None of them is imported unless a frame of it is there or is wanted: each is optional. What is not
Spark's goes from one kind to another by way of Arrow, and no Spark is needed for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from tranche.errors import ResultRejected, UsageError
from tranche.model.code import Frame

_KINDS: Final[dict[tuple[str, str], Frame]] = {
    ("pyspark", "DataFrame"): "spark",
    ("pandas", "DataFrame"): "pandas",
    ("polars", "DataFrame"): "polars",
    ("polars", "LazyFrame"): "lazy",
    ("pyarrow", "Table"): "arrow",
    ("pyarrow", "RecordBatch"): "arrow",
}
RETURNED: Final = "a DataFrame of Spark, pandas or Polars, a LazyFrame, an Arrow table, or None"
"""What a function may return."""


def frame_kind(value: object) -> Frame | None:
    """Which kind of frame a value is, if it is one.

    >>> frame_kind([1, 2]) is None
    True
    """
    for kind in type(value).__mro__:
        found = _KINDS.get((kind.__module__.partition(".")[0], kind.__name__))
        if found is not None:
            return found
    return None


def returned_kind(value: object, what: str) -> Frame | None:
    """Which kind of frame a function returned; None if it returned None, and nothing else may be."""
    kind = frame_kind(value)
    if kind is None and value is not None:
        type_ = type(value)
        name = type_.__qualname__
        if type_.__module__ != "builtins":
            name = f"{type_.__module__}.{name}"
        raise ResultRejected(f"{what} returned a value of the type {name}", f"return {RETURNED}")
    return kind


def converted(rows: Any, kind: Frame) -> Any:
    """A frame as another kind; one of Spark can become any, and none can become one of Spark here."""
    own = frame_kind(rows)
    if own is None:
        raise UsageError(f"a value of the type {type(rows).__qualname__} is no frame")
    if own == kind and not _is_batch(rows):
        return rows
    if kind == "spark":
        raise UsageError("rows become a frame of Spark only in a session of it")
    if own == "polars" and kind == "lazy":
        return rows.lazy()
    if own == "lazy" and kind == "polars":
        return rows.collect()
    return _from_arrow(_as_arrow(rows, own), kind)


def columns_of(rows: Any) -> list[str]:
    """The names of the columns of a frame of any kind."""
    kind = frame_kind(rows)
    if kind == "lazy":
        return list(rows.collect_schema().names())
    if kind == "arrow":
        return list(rows.schema.names)
    return [str(name) for name in rows.columns]


def _as_arrow(rows: Any, kind: Frame) -> Any:
    match kind:
        case "arrow":
            arrow = needed("pyarrow", "an Arrow table")
            return arrow.Table.from_batches([rows]) if _is_batch(rows) else rows
        case "spark":
            needed("pyarrow", "rows of Spark as another frame")
            return rows.toArrow()
        case "pandas":
            arrow = needed("pyarrow", "rows of pandas as another frame")
            return arrow.Table.from_pandas(rows, preserve_index=False)
        case "polars":
            return rows.to_arrow()
        case "lazy":
            return rows.collect().to_arrow()


def _from_arrow(table: Any, kind: Frame) -> Any:
    match kind:
        case "pandas":
            needed("pandas", "a DataFrame of pandas")
            return table.to_pandas()
        case "polars":
            return needed("polars", "a DataFrame of Polars").from_arrow(table)
        case "lazy":
            return needed("polars", "a LazyFrame").from_arrow(table).lazy()
        case _:
            return table


def needed(module: str, what: str) -> Any:
    """A module that is optional, now that it is wanted."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{what} needs {module}, which is not installed: {error}", f"pip install {module}"
        ) from None


def _is_batch(rows: object) -> bool:
    return any(kind.__name__ == "RecordBatch" for kind in type(rows).__mro__)
