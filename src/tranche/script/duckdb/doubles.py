"""Decimals that become DOUBLEs, and DOUBLEs that become decimals."""

from __future__ import annotations

from sqlglot import exp

from tranche.script.duckdb.pieces import Piece, refused
from tranche.script.duckdb.rules import guarded, line_of
from tranche.script.duckdb.types import FLOATS, is_decimal, precision_of, scale_of
from tranche.script.duckdb.zones import BOUND, bound

_EXACT = 2**53
"""Up to it a DOUBLE has each whole number."""
_SHORT = 15
"""How many digits fit into a DOUBLE in any case."""
_MOST_SCALE = 17
_FINE = f"a DECIMAL with more than {_SHORT} digits behind the point as a DOUBLE"
_ROUND = f"cast it to DECIMAL(38,{_SHORT}) first"
_FINEST = f"a DOUBLE as a DECIMAL with more than {_MOST_SCALE} digits behind the point"
_COARSER = "use fewer, as in x::DECIMAL(38,10)"


def as_double(node: exp.Expr, piece: Piece) -> str:
    """A number as a DOUBLE: a long decimal by its parts before and behind the point, as in DuckDB,
    where Spark takes the nearest."""
    if piece.type == "double":
        return piece.tight
    plain = nearest(piece)
    if is_decimal(piece.type):
        return plain if precision_of(piece.type or "") <= _SHORT else _by_parts(node, piece)
    if piece.type not in (None, "number"):
        return plain
    long = f"{piece.kind} RLIKE '^decimal.(1[6-9]|[23][0-9]),'"
    return f"if({long}, {_by_parts(node, piece)}, {plain})"


def nearest(piece: Piece) -> str:
    """A number as the nearest DOUBLE, which says whether it is 0 or NULL."""
    return piece.tight if piece.type == "double" else f"CAST({piece.text} AS DOUBLE)"


def _by_parts(node: exp.Expr, piece: Piece) -> str:
    digits = f"regexp_extract({piece.kind}, ',([0-9]+)', 1)"
    unit = f"CAST(rpad('1', 1 + coalesce(TRY_CAST({digits} AS INT), 0), '0') AS DECIMAL(16,0))"
    large = f"line {line_of(node)}: a DECIMAL with more than {_SHORT} digits before the point"
    parts = (
        f"CASE WHEN abs({BOUND}) <= {_EXACT}BD / {unit} THEN CAST({BOUND} AS DOUBLE)"
        f" WHEN abs({BOUND}) < {_EXACT}BD"
        f" THEN CAST({BOUND} DIV 1 AS DOUBLE) + CAST({BOUND} % 1 AS DOUBLE)"
        f" WHEN {BOUND} IS NOT NULL THEN raise_error('{large} as a DOUBLE') END"
    )
    text = bound(f"CAST({piece.text} AS DECIMAL(38,{_SHORT}))", parts)
    return guarded(
        node, text, [f"{piece.kind} RLIKE '^decimal.*,(1[6-9]|[23][0-9])'"], _FINE, _ROUND
    )


def as_decimal(node: exp.Expr, piece: Piece, target: str) -> str:
    """A floating-point number is multiplied first, and what that gives is rounded."""
    scale, word = scale_of(target), target.upper()
    plain = f"CAST({piece.text} AS {word})"
    if scale > _MOST_SCALE:
        if piece.type in FLOATS:
            raise refused(node, _FINEST, _COARSER)
        return guarded(node, plain, [f"{piece.kind} IN ('float', 'double')"], _FINEST, _COARSER)
    shifted = f"round(CAST({piece.text} AS DOUBLE) * 1E{scale}D)"
    unit = "1BD" if scale == 0 else f"CAST('0.{'0' * (scale - 1)}1' AS DECIMAL({scale},{scale}))"
    # Through a BIGINT, because Spark would write a DOUBLE with 17 digits.
    whole = f"CAST(CAST({shifted} AS BIGINT) AS DECIMAL(20,0))"
    rounded = f"CAST({whole} * {unit} AS {word})"
    if piece.type in FLOATS:
        return rounded
    return f"if({piece.kind} IN ('float', 'double'), {rounded}, {plain})"
