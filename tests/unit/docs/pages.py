"""The documents as the tests see them: pages, sections and code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])

_FENCE = re.compile(r"(`{3,})(\w*)\s*")
_HEADING = re.compile(r"(#+) (.+)")
_COMMENT = re.compile(r"<!--(.*?)-->\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the HTML comment right before it."""

    page: str
    line: int
    language: str
    text: str
    remark: str | None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[Block]:
    return [block for block in _blocks(name) if block.language == language]


def _blocks(name: str) -> Iterator[Block]:
    lines = page(name).splitlines()
    before: list[str] = []
    number = 0
    while number < len(lines):
        opened = _FENCE.fullmatch(lines[number])
        if opened is None:
            before.append(lines[number])
            number += 1
            continue
        start = number + 1
        number = lines.index(opened[1], start)
        remark = _COMMENT.search("\n".join(before))
        text = "\n".join(lines[start:number]) + "\n"
        yield Block(name, start, opened[2], text, remark[1].strip() if remark else None)
        before = []
        number += 1


def prose(text: str) -> str:
    """A page without its fenced blocks."""
    kept: list[str] = []
    fence: str | None = None
    for line in text.splitlines():
        opened = _FENCE.fullmatch(line)
        if fence is None and opened is not None:
            fence = opened[1]
        elif fence is not None and line == fence:
            fence = None
        elif fence is None:
            kept.append(line)
    return "\n".join(kept)


def section(name: str, title: str) -> str:
    """The text of a section with its subsections."""
    found: list[str] = []
    level = 0
    for line in page(name).splitlines():
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            if level and len(heading[1]) <= level:
                break
            if heading[2] == title:
                level = len(heading[1])
        if level:
            found.append(line)
    assert found, f"{name} has no section {title!r}"
    return "\n".join(found)


def anchors(text: str) -> set[str]:
    """The names that links into a page can use, made the way that GitHub makes them."""
    names: set[str] = set()
    for line in prose(text).splitlines():
        heading = _HEADING.fullmatch(line)
        if heading is None:
            continue
        plain = re.sub(r"[^\w\- ]", "", heading[2].lower()).replace(" ", "-")
        name, count = plain, 0
        while name in names:
            count += 1
            name = f"{plain}-{count}"
        names.add(name)
    return names
