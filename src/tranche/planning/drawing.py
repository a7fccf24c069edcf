"""Where the nodes of a graph stand in a picture of it, from left to right.

Nodes stand in layers, each to the right of all that it is made of. Within a layer, those of one
group stand together, and each near its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

_SWEEPS = 12
_PULLS = 24
_APART = 1.6
"""How much room there is between parts of the picture."""
_GRAPHS = 8
"""How many graphs are kept as they were drawn: pages ask for the same one again and again."""
_ROW = 4
"""How many nodes without neighbours stand side by side at least."""


@dataclass(frozen=True, slots=True)
class Spot:
    """The place of a node: its layer, and how far down it stands, in heights of a node."""

    layer: int
    row: float


def drawn(
    nodes: Sequence[str], edges: Iterable[tuple[str, str]], groups: Mapping[str, str]
) -> dict[str, Spot]:
    """A place for each node. Edges that would lead back are passed over.

    What is joined by edges stands together, the largest such part above the others, and what has no
    neighbours side by side below them.

    >>> drawn(["a", "b"], [("a", "b")], {})["b"].layer
    1
    """
    known = set(nodes)
    pairs = dict.fromkeys((a, b) for a, b in edges if a in known and b in known and a != b)
    own = tuple((node, groups.get(node, "")) for node in nodes)
    return dict(_drawn(own, tuple(pairs)))


@lru_cache(maxsize=_GRAPHS)
def _drawn(own: tuple[tuple[str, str], ...], pairs: tuple[tuple[str, str], ...]) -> dict[str, Spot]:
    """Nodes with their groups, and the edges between them."""
    nodes, groups = [node for node, _ in own], dict(own)
    found: dict[str, Spot] = {}
    top, wide = 0.0, _ROW
    parts = sorted(_parts(nodes, pairs), key=len, reverse=True)
    for part in (each for each in parts if len(each) > 1):
        inside = set(part)
        spots = _placed(part, [pair for pair in pairs if pair[0] in inside], groups)
        found |= {name: Spot(spot.layer, spot.row + top) for name, spot in spots.items()}
        top = max(spot.row for spot in found.values()) + _APART
        wide = max(wide, max(spot.layer for spot in spots.values()) + 1)
    alone = sorted((part[0] for part in parts if len(part) == 1), key=lambda n: groups.get(n, ""))
    for number, name in enumerate(alone):
        found[name] = Spot(number % wide, top + number // wide)
    return found


def _parts(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[list[str]]:
    """The nodes that are joined by edges in whatever direction, together."""
    near: dict[str, list[str]] = {}
    for first, second in edges:
        near.setdefault(first, []).append(second)
        near.setdefault(second, []).append(first)
    found: list[list[str]] = []
    seen: set[str] = set()
    for node in nodes:
        if node in seen:
            continue
        part, waiting = [], [node]
        seen.add(node)
        while waiting:
            part.append(waiting.pop())
            fresh = [each for each in near.get(part[-1], ()) if each not in seen]
            seen.update(fresh)
            waiting += dict.fromkeys(fresh)
        found.append(part)
    return found


def _placed(
    nodes: Sequence[str], pairs: Sequence[tuple[str, str]], groups: Mapping[str, str]
) -> dict[str, Spot]:
    """Places for nodes that are joined."""
    forward = _forward(nodes, pairs)
    layers = _layers(nodes, forward)
    rows: dict[int, list[_Slot]] = {}
    links = _links(forward, layers)
    slots = {name: _Slot(name, layers[name], groups.get(name, "")) for name in nodes}
    for above, below in links:
        for each in (above, below):
            if isinstance(each, _Bend):
                slots.setdefault(each.name, _Slot(each.name, each.layer, each.group))
    for slot in slots.values():
        rows.setdefault(slot.layer, []).append(slot)
    before: dict[str, list[_Slot]] = {}
    after: dict[str, list[_Slot]] = {}
    for above, below in links:
        first, second = slots[_name(above)], slots[_name(below)]
        after.setdefault(first.name, []).append(second)
        before.setdefault(second.name, []).append(first)
    _order(rows, before, after)
    _pull(rows, before, after)
    top = min(slots[name].at for name in nodes)
    return {name: Spot(layers[name], round(slots[name].at - top, 3)) for name in nodes}


@dataclass(slots=True)
class _Slot:
    """A node in its layer, or a bend of an edge that passes the layer."""

    name: str
    layer: int
    group: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class _Bend:
    name: str
    layer: int
    group: str = ""


def _name(end: str | _Bend) -> str:
    return end if isinstance(end, str) else end.name


def _forward(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The edges without those that close a circle."""
    after: dict[str, list[str]] = {}
    for first, second in edges:
        after.setdefault(first, []).append(second)
    state: dict[str, int] = {}
    back: set[tuple[str, str]] = set()
    for start in nodes:
        if start in state:
            continue
        state[start] = 1
        path = [(start, iter(after.get(start, ())))]
        while path:
            node, rest = path[-1]
            following = next(rest, None)
            if following is None:
                state[node] = 2
                path.pop()
            elif state.get(following) == 1:
                back.add((node, following))
            elif following not in state:
                state[following] = 1
                path.append((following, iter(after.get(following, ()))))
    return [edge for edge in edges if edge not in back]


def _layers(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Each as far left as it can be, but what nothing leads to next to what it leads to."""
    after: dict[str, list[str]] = {}
    waits: dict[str, int] = dict.fromkeys(nodes, 0)
    for first, second in edges:
        after.setdefault(first, []).append(second)
        waits[second] += 1
    starts = [node for node in nodes if waits[node] == 0]
    layers = dict.fromkeys(nodes, 0)
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        for following in after.get(node, ()):
            layers[following] = max(layers[following], layers[node] + 1)
            waits[following] -= 1
            if waits[following] == 0:
                waiting.append(following)
    for node in starts:
        if node in after:
            layers[node] = min(layers[following] for following in after[node]) - 1
    return layers


def _links(
    edges: Sequence[tuple[str, str]], layers: Mapping[str, int]
) -> list[tuple[str | _Bend, str | _Bend]]:
    """Edges from one layer to the next; longer ones have a bend in each layer that they pass."""
    found: list[tuple[str | _Bend, str | _Bend]] = []
    for first, second in edges:
        last: str | _Bend = first
        for layer in range(layers[first] + 1, layers[second]):
            # Those that end in one place pass a layer together.
            bend = _Bend(f"\0{layer}\0{second}", layer)
            found.append((last, bend))
            last = bend
        found.append((last, second))
    return list(dict.fromkeys(found))


def _order(
    rows: dict[int, list[_Slot]],
    before: Mapping[str, list[_Slot]],
    after: Mapping[str, list[_Slot]],
) -> None:
    """Puts each layer in order by where the neighbours of its nodes stand."""
    for row in rows.values():
        row.sort(key=lambda slot: (slot.group, slot.name))
        _count(row)
    last = max(rows, default=0)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        sides = before if down else after
        for layer in range(last + 1) if down else range(last, -1, -1):
            row = rows.get(layer, [])
            wanted = {
                slot.name: fmean([near.at for near in sides[slot.name]])
                if sides.get(slot.name)
                else slot.at
                for slot in row
            }
            middles: dict[str, list[float]] = {}
            for slot in row:
                middles.setdefault(slot.group or slot.name, []).append(wanted[slot.name])
            middle = {group: fmean(each) for group, each in middles.items()}
            row.sort(
                key=lambda slot: (
                    middle[slot.group or slot.name],
                    slot.group,
                    wanted[slot.name],
                    slot.name,
                )
            )
            _count(row)


def _count(row: Sequence[_Slot]) -> None:
    for place, slot in enumerate(row):
        slot.at = float(place)


def _pull(
    rows: dict[int, list[_Slot]],
    before: Mapping[str, list[_Slot]],
    after: Mapping[str, list[_Slot]],
) -> None:
    """Moves nodes towards their neighbours, as far as those above and below leave room."""
    for number in range(_PULLS):
        for layer in sorted(rows, reverse=number % 2 == 1):
            row = rows[layer]
            wanted = []
            for slot in row:
                near = [*before.get(slot.name, ()), *after.get(slot.name, ())]
                wanted.append(fmean([each.at for each in near]) if near else slot.at)
            for slot, at in zip(row, _apart(wanted), strict=True):
                slot.at = at


def _apart(wanted: Sequence[float]) -> list[float]:
    """Places in this order with room between them, all together as near as can be.

    Neighbours that would be too near stand in a block, which stands where its members would on the
    average.
    """
    blocks: list[tuple[float, int]] = []
    for number, at in enumerate(wanted):
        total, size = at - number, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / size:
            more, count = blocks.pop()
            total, size = total + more, size + count
        blocks.append((total, size))
    found: list[float] = []
    for total, size in blocks:
        found += [total / size + len(found) + offset for offset in range(size)]
    return found
