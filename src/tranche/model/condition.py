"""Conditions: which of the things that trigger a script must be there together for a key.

A condition has *ways* to be fulfilled, each of them some askers that are enough together:
``(a & b) | c`` has the ways {a, b} and {c}. Keys are independent: for each key, those ways count of
which at least one asker has asked for that key, and one of them must lack nothing. So an event of
``c`` for a key starts that key at once, while one of ``a`` waits for the same key of ``b``; and of
several assets in an OR, one that has said nothing of the key starts it no more than it holds it up.

Of a key that no asker of the condition has asked for (a run looks back to it, or its script was
changed since), nobody can say which way is meant. It lacks what an AND at the top lacks, which all
ways need, and nothing otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tranche.errors import TriggerRejected
from tranche.model.asset import AssetUri, BadAddress, FileSet, JobTask, LakeTable, parse_address
from tranche.model.partitioning_text import shown

SCHEDULE = "schedule"
"""What a script's own schedule is called, in conditions and among those that have asked for a key."""

_QUOTED = frozenset('()&|"')


class _Part:
    """What `&` and `|` join."""

    __slots__ = ()

    def __and__(self, other: Condition) -> Condition:
        return all_of((_checked(self), other)) if isinstance(other, _Part) else NotImplemented

    def __or__(self, other: Condition) -> Condition:
        return any_of((_checked(self), other)) if isinstance(other, _Part) else NotImplemented

    def __bool__(self) -> bool:
        # `a and b` would be b, in silence.
        raise TriggerRejected(
            "a condition is neither true nor false", "join assets by & and |, not by 'and' and 'or'"
        )


@dataclass(frozen=True, slots=True, init=False)
class Asset(_Part):
    """An asset that triggers a script.

    >>> print((Asset("lake://main/a") & Asset("lake://main/b")) | Asset("lake://main/c"))
    (lake://main/a & lake://main/b) | lake://main/c
    """

    uri: AssetUri

    def __init__(self, address: str | AssetUri) -> None:
        if isinstance(address, str):
            try:
                address = parse_address(address)
            except BadAddress as error:
                what, _, remedy = str(error).partition("; ")
                raise TriggerRejected(what, remedy or None) from None
        if not isinstance(address, LakeTable | FileSet | JobTask):
            raise TriggerRejected(
                f"{shown(address)} is no address", 'write it as "lake://<lake>/<table>"'
            )
        object.__setattr__(self, "uri", address)

    @property
    def name(self) -> str:
        return str(self.uri)

    def __str__(self) -> str:
        name = self.name
        if not _QUOTED.intersection(name) and not any(map(str.isspace, name)):
            return name
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'


@dataclass(frozen=True, slots=True)
class OwnSchedule(_Part):
    """The schedule of the script itself: there for a key once a fire has asked for it."""

    @property
    def name(self) -> str:
        return SCHEDULE

    def __str__(self) -> str:
        return SCHEDULE


@dataclass(frozen=True, slots=True)
class AllOf(_Part):
    """An AND: all of its parts must be there, for the same key."""

    parts: tuple[Condition, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _flat(AllOf, self.parts))

    def __str__(self) -> str:
        return " & ".join(
            f"({each})" if isinstance(each, AnyOf) else str(each) for each in self.parts
        )


@dataclass(frozen=True, slots=True)
class AnyOf(_Part):
    """An OR: one of its parts is enough."""

    parts: tuple[Condition, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _flat(AnyOf, self.parts))

    def __str__(self) -> str:
        return " | ".join(
            f"({each})" if isinstance(each, AllOf) else str(each) for each in self.parts
        )


Asker: TypeAlias = Asset | OwnSchedule
"""What can ask for a key."""
Condition: TypeAlias = Asker | AllOf | AnyOf


def all_of(parts: Iterable[Condition]) -> Condition:
    """The AND of several conditions; of one, that one.

    >>> print(all_of([Asset("lake://main/a"), Asset("lake://main/a")]))
    lake://main/a
    """
    joined = AllOf(tuple(parts))
    return joined if len(joined.parts) > 1 else joined.parts[0]


def any_of(parts: Iterable[Condition]) -> Condition:
    """The OR of several conditions; of one, that one."""
    joined = AnyOf(tuple(parts))
    return joined if len(joined.parts) > 1 else joined.parts[0]


def askers(condition: Condition | None) -> tuple[Asker, ...]:
    """Those that a condition names, each once, in their order."""
    return tuple(dict.fromkeys(_askers(condition))) if condition is not None else ()


def joins(condition: Condition | None) -> tuple[AllOf, ...]:
    """The ANDs of a condition, at any depth, inner ones first. Where there are none, any will do."""
    return tuple(_joins(condition)) if condition is not None else ()


def joined(condition: Condition | None) -> frozenset[str]:
    """The names of those that must be there together with others."""
    return frozenset(each.name for join in joins(condition) for each in askers(join))


def lacking(
    condition: Condition, asked: Collection[str], lacks: Mapping[str, Sequence[str]]
) -> list[str]:
    """What a key still waits for: that which the way lacks that lacks least, of those that count.

    `asked` names those that have asked for the key, `lacks` says by name what each still lacks.
    Askers that stand not in `lacks` are left out of the condition: nobody can say anything of them.

    >>> a, b, c = (Asset(f"lake://main/{name}") for name in "abc")
    >>> lacks = {a.name: [], b.name: ["b of Monday"], c.name: []}
    >>> lacking((a & b) | c, [a.name], lacks), lacking((a & b) | c, [a.name, c.name], lacks)
    (['b of Monday'], [])
    """
    found = _asked(condition, asked, lacks)
    if found is None and isinstance(condition, AllOf):
        found = _whole(condition, lacks)
    return found or []


def _asked(
    condition: Condition, asked: Collection[str], lacks: Mapping[str, Sequence[str]]
) -> list[str] | None:
    """The least that one of the ways lacks which were asked for; None if none was."""
    match condition:
        case AllOf(parts):
            if any(isinstance(each, Asker) and each.name in asked for each in parts):
                return _whole(condition, lacks)
            return _least(
                _united(way, *(_whole(other, lacks) for other in parts if other is not each))
                for each in parts
                if (way := _asked(each, asked, lacks)) is not None
            )
        case AnyOf(parts):
            return _least(_asked(each, asked, lacks) for each in parts)
        case asker:
            return _whole(asker, lacks) if asker.name in asked else None


def _whole(condition: Condition, lacks: Mapping[str, Sequence[str]]) -> list[str] | None:
    """The least that one of all ways lacks; None if nobody can say anything of any."""
    match condition:
        case AllOf(parts):
            return _united(*(_whole(each, lacks) for each in parts))
        case AnyOf(parts):
            return _least(_whole(each, lacks) for each in parts)
        case asker:
            return list(lacks[asker.name]) if asker.name in lacks else None


def possible(condition: Condition, of: Callable[[Asker], bool]) -> bool:
    """Whether a condition can be fulfilled, by what can be said of each asker alone."""
    match condition:
        case AllOf(parts):
            return all(possible(each, of) for each in parts)
        case AnyOf(parts):
            return any(possible(each, of) for each in parts)
        case asker:
            return of(asker)


def _united(*several: list[str] | None) -> list[str] | None:
    known = [each for each in several if each is not None]
    return list(dict.fromkeys(lack for each in known for lack in each)) if known else None


def _least(several: Iterable[list[str] | None]) -> list[str] | None:
    return min((each for each in several if each is not None), key=len, default=None)


def _askers(condition: Condition) -> Iterator[Asker]:
    if isinstance(condition, AllOf | AnyOf):
        for part in condition.parts:
            yield from _askers(part)
    else:
        yield condition


def _joins(condition: Condition) -> Iterator[AllOf]:
    if isinstance(condition, AllOf | AnyOf):
        for part in condition.parts:
            yield from _joins(part)
    if isinstance(condition, AllOf):
        yield condition


def _flat(kind: type[AllOf] | type[AnyOf], parts: Iterable[object]) -> tuple[Condition, ...]:
    """The parts, each once; a group of the same kind within a group says nothing of its own."""
    found: dict[Condition, None] = {}
    for part in map(_checked, parts):
        found.update(dict.fromkeys(part.parts if isinstance(part, kind) else (part,)))
    if not found:
        raise TriggerRejected("the condition is empty", 'name an asset, as in Asset("lake://…")')
    return tuple(found)


def _checked(part: object) -> Condition:
    if isinstance(part, Asset | OwnSchedule | AllOf | AnyOf):
        return part
    raise TriggerRejected(
        f"{shown(part)} is no condition", 'use assets, as in Asset("lake://main/orders"), & and |'
    )
