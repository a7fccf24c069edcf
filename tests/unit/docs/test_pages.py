"""Links resolve, and pages that describe the code agree with it."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import pytest
from pages import DOCS, PAGES, ROOT, anchors, page, prose, section

from tranche import errors
from tranche.errors import TrancheError
from tranche.state.tables import metadata

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_TREE_LINE = re.compile(r"([│├└─ ]*)([A-Z]\w+)\b")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_internal_links_resolve(path: Path) -> None:
    for link in _LINK.findall(prose(path.read_text(encoding="utf-8"))):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), link


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        path = waiting.pop()
        if path in reached or path.suffix != ".md":
            continue
        reached.add(path)
        for link in _LINK.findall(prose(path.read_text(encoding="utf-8"))):
            file = link.partition("#")[0]
            if file and "://" not in link:
                waiting.append((path.parent / file).resolve())
    assert set(PAGES) <= reached


def test_the_changelog_has_an_unreleased_section() -> None:
    assert section("CHANGELOG.md", "[Unreleased]")


def test_decisions_are_numbered_without_gaps_and_have_three_parts() -> None:
    files = sorted((DOCS / "decisions").glob("0*.md"))
    for number, file in enumerate(files, 1):
        text = file.read_text(encoding="utf-8")
        assert file.name.startswith(f"{number:04}-")
        assert text.startswith(f"# {number:04}: ")
        for part in ("Context", "Decision", "Consequences"):
            assert f"\n## {part}\n" in text, file.name


def test_the_architecture_lists_the_layers_in_order() -> None:
    settings = tomllib.loads(page("pyproject.toml"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    [layers] = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    named = [name.strip() for layer in layers for name in layer.split("|")]
    table = section("docs/architecture.md", "The layers")
    assert re.findall(r"^\| `(tranche\.\w+)` \|", table, re.MULTILINE) == named


def test_the_architecture_lists_the_state_tables() -> None:
    table = section("docs/architecture.md", "The state tables")
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(metadata.tables)


def error_tree() -> list[tuple[str, str | None]]:
    """The classes drawn in the docstring of `errors`, each with the one it hangs from."""
    drawn = (errors.__doc__ or "").partition("The tree::")[2]
    found: list[tuple[str, str | None]] = []
    above: list[tuple[int, str]] = []
    for line in drawn.splitlines():
        match = _TREE_LINE.match(line)
        if match is None:
            continue
        depth = len(match[1])
        above = [(other, name) for other, name in above if other < depth]
        found.append((match[2], above[-1][1] if above else None))
        above.append((depth, match[2]))
    return found


def test_every_error_stands_in_the_tree_at_its_place() -> None:
    classes = [
        value
        for _, value in inspect.getmembers(errors, inspect.isclass)
        if issubclass(value, TrancheError)
    ]
    expected = {
        (each.__name__, None if each is TrancheError else each.__bases__[0].__name__)
        for each in classes
    }
    assert set(error_tree()) == expected
    assert len(error_tree()) == len(expected)


def test_exit_codes_are_those_of_the_errors() -> None:
    table = section("docs/commands.md", "Exit codes")
    documented = {int(code) for code in re.findall(r"^\| (\d) \|", table, re.MULTILINE)}
    classes = [value for _, value in inspect.getmembers(errors, inspect.isclass)]
    codes = {each.exit_code for each in classes if issubclass(each, TrancheError)}
    assert documented == codes | {0}
