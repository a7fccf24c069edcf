"""What is wrong with a job, collected with where it stands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tranche.errors import Fault, Place, TrancheError
from tranche.script.words import Malformed

_T = TypeVar("_T")


@dataclass(slots=True)
class Faults:
    """The faults of one job. Files of the project are named from its root."""

    path: str
    """The file that the job was declared by."""
    root: str
    found: list[Fault] = field(default_factory=list)

    def at(self, file: str, line: int, what: str, remedy: str | None) -> None:
        try:
            path = Path(file).resolve().relative_to(Path(self.root).resolve()).as_posix()
        except ValueError:
            path = self.path
        self.found.append(Fault(Place(path, line), what, remedy))

    def of(self, function: Callable[..., Any], line: int, what: str, remedy: str | None) -> None:
        """A fault in the file of a function."""
        self.at(file_of(function), line, what, remedy)

    def tried(
        self, check: Callable[[], _T], function: Callable[..., Any], about: str = ""
    ) -> _T | None:
        """What a check gives, unless it finds a fault; that is the decorator's then."""
        try:
            return check()
        except Malformed as error:
            self.of(function, first_line_of(function), f"{about}{error.what}", error.remedy)
        return None

    def raised(self, name: str, function: Callable[..., Any], error: BaseException) -> None:
        """What the body of a job raised, at the line where it did."""
        file, line, traceback = file_of(function), first_line_of(function), error.__traceback__
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == file:
                line = traceback.tb_lineno
            traceback = traceback.tb_next
        if isinstance(error, TrancheError):
            self.at(file, line, error.what, error.remedy)
            return
        said = str(error).strip().partition("\n")[0]
        self.at(
            file,
            line,
            f"the body of the job {name!r} raised {type(error).__name__}{f': {said}' if said else ''}",
            "correct it; the body runs when the project is loaded",
        )


def file_of(function: Callable[..., Any]) -> str:
    """The file that a function stands in."""
    file: str = inspect.unwrap(function).__code__.co_filename
    return file


def first_line_of(function: Callable[..., Any]) -> int:
    """The first line of a function, which is that of its first decorator."""
    line: int = inspect.unwrap(function).__code__.co_firstlineno
    return line
