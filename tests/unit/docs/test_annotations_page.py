"""The annotation reference names everything that a script can say."""

from __future__ import annotations

from typing import get_args

import pytest
from pages import page, section

from tranche.model.argument import _ALIASES, TYPES
from tranche.model.layout import TransformName
from tranche.model.mapping import MAPPERS
from tranche.model.partitioning_format import _FIELDS, DEFAULTS
from tranche.script.annotations import WORDS
from tranche.script.data_tests import _FORMS
from tranche.script.files import FILE_FUNCTIONS
from tranche.script.materialize import _OPTIONS as MATERIALIZE_OPTIONS
from tranche.script.materialize import _POLICIES
from tranche.script.materialize import _WORDS as MATERIALIZE_WORDS
from tranche.script.partitioned import _TIME_OPTIONS, KINDS
from tranche.script.triggers import _ASSET_OPTIONS, _SCHEDULE_OPTIONS

PAGE = "docs/annotations.md"


@pytest.mark.parametrize("word", WORDS)
def test_every_annotation_has_a_section(word: str) -> None:
    headings = [line for line in page(PAGE).splitlines() if line.startswith("## ")]
    assert any(f"`{word}" in heading for heading in headings), word
    assert f"-- {word}" in page(PAGE), f"{word} has no example"


@pytest.mark.parametrize("mapper", MAPPERS)
def test_every_mapper_has_a_row(mapper: str) -> None:
    assert f"\n| `{mapper}` |" in section(PAGE, "Mappers")


@pytest.mark.parametrize(
    ("title", "options"),
    [
        ("`on <address>`", _ASSET_OPTIONS),
        ("`on schedule`", _SCHEDULE_OPTIONS),
        ("By time", _TIME_OPTIONS),
        ("`materialize`", MATERIALIZE_OPTIONS),
    ],
)
def test_every_option_has_a_row_and_an_example(title: str, options: tuple[str, ...]) -> None:
    text = section(PAGE, title)
    for option in options:
        assert f"\n| `{option}` |" in text, option
        assert f" {option}=" in text, f"{option} has no example"


def test_every_kind_is_documented_with_its_format() -> None:
    text = section(PAGE, "`partitioned`")
    for kind in KINDS:
        assert f"`{kind}`" in text, kind
    for kind, format_ in DEFAULTS.items():
        assert f"| `{kind}` | `{format_}`" in text


def test_every_format_directive_is_documented() -> None:
    text = section(PAGE, "By time")
    for directive in _FIELDS:
        assert f"`%{directive}`" in text, directive


def test_the_words_of_materialize_are_documented() -> None:
    text = section(PAGE, "`materialize`")
    for word in MATERIALIZE_WORDS:
        assert word in text
    for policy in _POLICIES:
        assert f"`{policy}`" in text


def test_every_transform_and_data_test_is_documented() -> None:
    layout = section(PAGE, "`layout`")
    for transform in get_args(TransformName):
        assert transform == "identity" or f"`{transform}(<" in layout, transform
    tests = section(PAGE, "`data_test`")
    for form in _FORMS:
        assert f"`data_test {form} <column>" in tests
        assert f"-- data_test {form}" in tests


def test_every_type_of_argument_is_documented() -> None:
    text = section(PAGE, "Arguments")
    for name in (*TYPES, *_ALIASES):
        assert f"`{name}`" in text, name


def test_every_file_function_is_documented() -> None:
    for name in FILE_FUNCTIONS:
        assert f"`{name}`" in section(PAGE, "Files")
