"""The text of a plan as a tree, and the lists in it.

Spark quotes nothing: names and values stand in the text as they are, with commas and brackets of
their own. So a list is cut where a piece is complete, and what does not come out even is unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_HEADING = "== {} =="
_ANALYSED, _OPTIMIZED, _PHYSICAL = (
    _HEADING.format(name)
    for name in ("Analyzed Logical Plan", "Optimized Logical Plan", "Physical Plan")
)
_LINE = re.compile(r"((?:[: ]  )*[:+]- )(.*)")
_DEPTH = 3
"""How many characters a level of the tree is indented by."""
_ATTRIBUTE = re.compile(r"(?P<name>.+)#(?P<id>\d+)L?", re.DOTALL)
_NUMBERED = re.compile(r"#\d+L?$")
_OPENING = {"(": ")", "[": "]"}


class Unreadable(ValueError):
    """Text that is no plan of a form that is known."""


@dataclass(slots=True)
class PlanNode:
    """A node of a plan: its text, the plans of subqueries in it, and what it is made of."""

    text: str
    inner: list[PlanNode] = field(default_factory=list)
    children: list[PlanNode] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What kind of node it is.

        >>> PlanNode("RelationV2[id#1L] main.default.orders").name
        'RelationV2'
        """
        return re.split(r"[ \[(]", self.text, maxsplit=1)[0]

    @property
    def rest(self) -> str:
        return self.text[len(self.name) :].strip()


def analysed(text: str) -> PlanNode:
    """The analysed plan in what EXPLAIN says of a view, or of a SELECT."""
    _, found, behind = text.partition(_ANALYSED + "\n")
    if not found:
        raise Unreadable("there is no analysed plan")
    lines = behind.partition("\n" + _OPTIMIZED)[0].split("\n")
    if not lines[0].startswith("CreateViewCommand"):
        # The columns of a SELECT, with their types.
        del lines[0]
    root = tree(lines)
    if root.name != "CreateViewCommand":
        return root
    # The view is made of nothing: what it shows is only named by it.
    if len(root.inner) != 1 or root.children:
        raise Unreadable("the view shows no plan")
    return root.inner[0]


def physical(text: str) -> str:
    return text.partition(_PHYSICAL + "\n")[2]


def tree(lines: list[str]) -> PlanNode:
    r"""The nodes of a plan, which are indented: subqueries twice as far as what a node is made of.

    >>> found = tree(["Filter a", ":  +- Range", "+- Project", "   +- Range"])
    >>> [each.text for each in found.inner], [each.text for each in found.children]
    (['Range'], ['Project'])
    """
    nodes = list(_nodes(lines))
    if not nodes or nodes[0][0] != 0:
        raise Unreadable("the plan has no root")
    root = PlanNode(nodes[0][1])
    path = [(0, root)]
    for depth, text in nodes[1:]:
        while path and path[-1][0] >= depth:
            path.pop()
        above, parent = path[-1] if path else (-1, root)
        node = PlanNode(text)
        match depth - above:
            case 1:
                parent.children.append(node)
            case 2:
                parent.inner.append(node)
            case _:
                raise Unreadable("the plan is indented in another way")
        path.append((depth, node))
    return root


def _nodes(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Each node with how deep it lies. Names and values may hold line breaks."""
    at: tuple[int, list[str]] | None = None
    for line in lines:
        found = _LINE.fullmatch(line)
        if at is not None and found is None:
            at[1].append(line)
            continue
        if at is not None:
            yield at[0], "\n".join(at[1]).rstrip()
        at = (0, [line]) if found is None else (len(found[1]) // _DEPTH, [found[2]])
    if at is not None:
        yield at[0], "\n".join(at[1]).rstrip()


def attribute(text: str) -> tuple[str, int] | None:
    """The name and the number of a column; None if the text is none.

    >>> attribute("amount#12L"), attribute("12")
    (('amount', 12), None)
    """
    found = _ATTRIBUTE.fullmatch(text)
    return (found["name"], int(found["id"])) if found else None


def attributes(text: str, between: str = ", ") -> list[tuple[str, int]]:
    """The columns of a list that names them, such as that of a scan.

    >>> attributes("id#1L, a, b#3#2")
    [('id', 1), ('a, b#3', 2)]
    """
    pieces = cut(text, lambda piece: attribute(piece) is not None, between)
    return [found for piece in pieces if (found := attribute(piece)) is not None]


def cut(text: str, complete: Callable[[str], bool], between: str = ", ") -> list[str]:
    """The pieces of a list, each as short as it can be complete; all of them end with a number."""
    pieces: list[str] = []
    waiting: list[str] = []
    for part in text.split(between) if text else ():
        waiting.append(part)
        if _NUMBERED.search(part):
            piece = between.join(waiting)
            if complete(piece):
                pieces.append(piece)
                waiting = []
    if waiting:
        # Not what it is: there may be values in it.
        raise Unreadable("a list does not come out even")
    return pieces


def closing(text: str, start: int) -> int:
    """Where the bracket is closed that opens at a place."""
    waiting: list[str] = []
    for at in range(start, len(text)):
        character = text[at]
        if character in _OPENING:
            waiting.append(_OPENING[character])
        elif waiting and character in _OPENING.values():
            if waiting.pop() != character:
                break
            if not waiting:
                return at
    raise Unreadable("a bracket is not closed")


def arguments(text: str, start: int) -> list[tuple[int, int]]:
    """Where the arguments of a function begin and end, whose bracket opens at a place.

    >>> text = "f(a, g(b, c))"
    >>> [text[start:end] for start, end in arguments(text, 1)]
    ['a', 'g(b, c)']
    """
    end = closing(text, start)
    found, begin, at = [], start + 1, start + 1
    while at < end:
        if text[at] in _OPENING:
            at = closing(text, at)
        elif text.startswith(", ", at):
            found.append((begin, at))
            begin = at + 2
        at += 1
    return [*found, (begin, end)]


def identifier(text: str) -> tuple[str, ...]:
    """The parts of a name.

    >>> identifier("spark_catalog.delta.`/lake/a.b`")
    ('spark_catalog', 'delta', '/lake/a.b')
    """
    parts = re.findall(r"`((?:[^`]|``)*)`|([^.`]+)", text)
    return tuple(quoted.replace("``", "`") or plain for quoted, plain in parts)
