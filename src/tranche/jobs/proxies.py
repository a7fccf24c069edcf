"""What stands for values that nobody has yet, while the body of a job is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from tranche.errors import TaskMisused
from tranche.model.condition import Asset

_T = TypeVar("_T")


class Proxy:
    """Something that can be handed to tasks, and nothing else."""

    __slots__ = ("_about",)

    def __init__(self, about: str) -> None:
        self._about = about

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TaskMisused(
            f"{self._about} is not known yet while the job is read",
            "hand it to a task, which gets its value; the body of a job only says what is made of"
            " what",
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    __call__ = __iter__ = __len__ = __getitem__ = __bool__ = __contains__ = _refuse
    __add__ = __radd__ = __sub__ = __mul__ = __truediv__ = __mod__ = __and__ = __or__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __int__ = __float__ = __index__ = __str__ = _refuse
    __format__ = _refuse


class Result(Proxy):
    """What a task will return."""

    __slots__ = ("_body", "_task")

    def __init__(self, body: object, task: str) -> None:
        super().__init__(f"what the task {task!r} returns")
        self._body = body
        self._task = task


class Given(Proxy):
    """An argument of a job."""

    __slots__ = ("_argument",)

    def __init__(self, argument: str) -> None:
        super().__init__(f"the argument {argument!r}")
        self._argument = argument


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """All keys of something, whichever of them a run is for."""

    of: Result | Asset


def all_partitions(result: _T) -> _T:
    """The result of a task, or an asset, with all of its keys: `report(all_partitions(extract()))`.

    Rows that are there already are what they are, so that a test may call what a job calls.
    """
    found: Any = Whole(result) if isinstance(result, Result | Asset) else result
    return found  # type: ignore[no-any-return]


def result_of(value: object) -> tuple[object, str] | None:
    """The body and the task that a proxy stands for the result of."""
    return (value._body, value._task) if isinstance(value, Result) else None


def argument_of(value: object) -> str | None:
    """The argument of a job that a proxy stands for."""
    return value._argument if isinstance(value, Given) else None
