"""Versions of rows: what a history holds, as SQL over the names of views.

The versions of a key are a function of its observations alone. An observation is a row of the
data together with the time from which it holds; in what order observations arrive does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tranche.script.binding import quoted_name

FROM, TO, CURRENT = "valid_from", "valid_to", "is_current"
AT = "_tranche_at"
"""The time of an observation."""
DELETED = "_tranche_deleted"
"""Marks an observation that says: the key was not there any more."""
CHANGE = "_tranche_change"
"""What happens to a version: open, close, amend, drop; or insert, update, delete."""


@dataclass(frozen=True, slots=True)
class VersionColumns:
    """The columns of a history by their part in it; all names are of the data's own columns."""

    key: tuple[str, ...]
    track: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def data(self) -> tuple[str, ...]:
        return (*self.key, *self.track, *self.others)


def same(columns: Sequence[str], left: str, right: str) -> str:
    """
    >>> same(("a", "b"), "s", "c")
    's.`a` <=> c.`a` AND s.`b` <=> c.`b`'
    """
    pairs = (f"{left}.{quoted_name(c)} <=> {right}.{quoted_name(c)}" for c in columns)
    return " AND ".join(pairs) or "true"


def equal(columns: Sequence[str], left: str, right: str) -> str:
    pairs = (f"{left}.{quoted_name(c)} = {right}.{quoted_name(c)}" for c in columns)
    return " AND ".join(pairs)


def listed(columns: Sequence[str], source: str) -> str:
    return ", ".join(f"{source}.{quoted_name(column)}" for column in columns)


def changes_now(columns: VersionColumns, *, rows: str, current: str, close_deleted: bool) -> str:
    """What a snapshot that is newer than every version changes. `:at` is its time.

    A changed key gives two rows: one closes its version and one opens the next.
    """
    key = quoted_name(columns.key[0])
    data = ", ".join(
        f"coalesce(s.{c}, c.{c}) AS {c}" if name in columns.key else f"s.{c}"
        for name, c in ((name, quoted_name(name)) for name in columns.data)
    )
    join = "FULL OUTER" if close_deleted else "LEFT"
    absent = f" OR s.{key} IS NULL" if close_deleted else ""
    backwards = f"CASE WHEN c.{FROM} > :at THEN raise_error('TRANCHE_BACKWARDS ' || c.{FROM}) END"
    return f"""
SELECT {data}, part AS {CHANGE}
FROM {rows} AS s {join} JOIN {current} AS c ON {equal(columns.key, "s", "c")}
LATERAL VIEW explode(CASE
    WHEN c.{key} IS NULL THEN array('open')
    WHEN {backwards} IS NOT NULL THEN NULL
    WHEN s.{key} IS NULL AND c.{FROM} = :at THEN array('drop')
    WHEN s.{key} IS NULL THEN array('close')
    WHEN c.{FROM} = :at THEN array('amend')
    ELSE array('close', 'open') END) p AS part
WHERE c.{key} IS NULL{absent} OR NOT ({same(columns.track, "s", "c")})
"""


def first_versions(columns: VersionColumns, *, rows: str) -> str:
    """The history after its first snapshot."""
    return f"""
SELECT {listed(columns.data, "s")}, :at AS {FROM}, CAST(NULL AS TIMESTAMP) AS {TO},
       true AS {CURRENT}
FROM {rows} AS s
"""


def derived_versions(columns: VersionColumns, *, observations: str, moments: str | None) -> str:
    """The versions of some keys from all of their observations.

    `moments` has the times at which the whole of the data was observed, in a column `at`: a key
    that is missing at the next of them has ended there. Without it, a key that is missing says
    nothing.
    """
    key = ", ".join(quoted_name(name) for name in columns.key)
    tracked = ", ".join(quoted_name(name) for name in columns.track) or "1"
    data = ", ".join(quoted_name(name) for name in columns.data)
    if moments is None:
        ends, source = f"CASE WHEN {DELETED} THEN {AT} END", f"{observations} AS o"
    else:
        # Where the next moment has no observation of the key, the key ended at that moment.
        ends = f"CASE WHEN m.next < lead({AT}, 1, TIMESTAMP '9999-12-31') OVER k THEN m.next END"
        source = (
            f"{observations} AS o LEFT JOIN (SELECT at, lead(at) OVER (ORDER BY at) AS next"
            f" FROM {moments}) AS m ON m.at = o.{AT}"
        )
    return f"""
WITH observed AS (
    SELECT {data}, {AT}, {DELETED}, {ends} AS ends, struct({tracked}) AS state
    FROM {source}
    WINDOW k AS (PARTITION BY {key} ORDER BY {AT})
),
marked AS (
    SELECT *, CASE WHEN NOT {DELETED} AND (
        lag({AT}) OVER k IS NULL OR lag({DELETED}) OVER k OR lag(ends) OVER k IS NOT NULL
        OR NOT lag(state) OVER k <=> state) THEN 1 ELSE 0 END AS opens
    FROM observed
    WINDOW k AS (PARTITION BY {key} ORDER BY {AT})
),
numbered AS (
    SELECT *, sum(opens) OVER (PARTITION BY {key} ORDER BY {AT}) AS version FROM marked
),
versions AS (
    SELECT {data}, opens, {AT} AS {FROM},
        min(ends) OVER (PARTITION BY {key}, version) AS ended, version
    FROM numbered WHERE version > 0
)
SELECT {data}, {FROM},
       coalesce(ended, lead({FROM}) OVER (PARTITION BY {key} ORDER BY {FROM})) AS {TO},
       coalesce(ended, lead({FROM}) OVER (PARTITION BY {key} ORDER BY {FROM})) IS NULL AS {CURRENT}
FROM versions WHERE opens = 1
"""


def version_differences(columns: VersionColumns, *, existing: str, derived: str) -> str:
    """What must change for the existing versions of some keys to become the derived ones."""
    every = (*columns.data, FROM, TO, CURRENT)
    key = quoted_name(columns.key[0])
    data = ", ".join(
        f"coalesce(d.{c}, e.{c}) AS {c}" if name in (*columns.key, FROM) else f"d.{c}"
        for name, c in ((name, quoted_name(name)) for name in every)
    )
    return f"""
SELECT {data}, CASE WHEN e.{key} IS NULL THEN 'insert' WHEN d.{key} IS NULL THEN 'delete'
    ELSE 'update' END AS {CHANGE}
FROM {derived} AS d FULL OUTER JOIN {existing} AS e
ON {equal((*columns.key, FROM), "d", "e")}
WHERE e.{key} IS NULL OR d.{key} IS NULL OR NOT ({same(every, "d", "e")})
"""
