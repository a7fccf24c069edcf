"""What a query has read, as the query itself counted it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Portion:
    """How many were read, and of how many.

    What was counted does not always tell the number itself, but then its bounds.

    >>> str(Portion(1, 1, 5)), str(Portion(5, 5, 5)), str(Portion(1, 3, 5))
    ('1 of 5', 'all 5', 'at most 3 of 5')
    """

    least: int
    most: int
    of: int | None = None
    """None if that is not known."""

    @property
    def read(self) -> int | None:
        """The number, if it is certain."""
        return self.most if self.least == self.most else None

    def __str__(self) -> str:
        if self.read is not None and self.read == self.of and self.of > 0:
            return f"all {self.of}"
        most = str(self.most) if self.read is not None else f"at most {self.most}"
        return most if self.of is None else f"{most} of {self.of}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """One place of a query where it reads a table or files."""

    source: str
    """The address of a table, or the format and path of files."""
    snapshot: str | None = None
    files: Portion | None = None
    partitions: Portion | None = None
    """None for what has no partitions, and where nothing is known of them."""
    rows: int | None = None
    """How many came out of the files, before what could not be pushed down was filtered."""
    bytes: int | None = None
    """How many were fetched from the files: fewer than they have, if only some columns are read."""
    file_bytes: int | None = None
    """How many the files have that were read, if their number is certain."""
    filters: tuple[str, ...] = ()
    """What was pushed down to the files, in the words of their format."""
