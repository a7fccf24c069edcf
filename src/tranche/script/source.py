"""A script's text while it is read, with the faults found in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tranche.errors import Fault, Place


@dataclass(slots=True)
class Source:
    """The text of one file; whoever reads it notes what is wrong and where."""

    path: str
    text: str
    faults: list[Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    script: str | None = None
    """The script whose key and arguments it uses, if that is another file."""

    def place(self, position: int) -> Place:
        return Place(self.path, self.line(position))

    def line(self, position: int) -> int:
        return self.text.count("\n", 0, position) + 1

    def fault(self, position: int, what: str, remedy: str | None = None) -> None:
        self.faults.append(Fault(self.place(position), what, remedy))

    def warn(self, position: int, text: str) -> None:
        self.warnings.append(f"{self.place(position)}: {text}")
