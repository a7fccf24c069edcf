"""HTML and SVG, put together so that texts stay texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TypeAlias
from unicodedata import east_asian_width

from tranche.views.plain import harmless

Value: TypeAlias = str | float | None


class Markup(str):
    """Text that is HTML already. Any other is escaped when it goes into an element."""

    __slots__ = ()


Inside: TypeAlias = str | Iterable[str]


def element(name: str, *inside: Inside, **attributes: Value | Mapping[str, str]) -> Markup:
    """An element with its attributes and what is inside it.

    An underscore in the name of an attribute stands for a hyphen, and one at its end for nothing.
    Those that are None are left out.

    >>> print(element("p", "a < b", title='"', stroke_width=1.5, class_=None))
    <p title="&quot;" stroke-width="1.5">a &lt; b</p>
    >>> print(element("div", element("b", "x"), style={"color": "inherit", "margin": "0"}))
    <div style="color:inherit;margin:0"><b>x</b></div>
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{joined(*inside)}</{name}>")


def joined(*parts: Inside) -> Markup:
    """Parts one after the other.

    >>> print(joined("1 < 2", [Markup("<br>"), "&"]))
    1 &lt; 2<br>&amp;
    """
    return Markup(
        "".join(
            _text(part) if isinstance(part, str) else "".join(map(_text, part)) for part in parts
        )
    )


def clipped(text: str, room: int) -> str:
    """A text that is at most so many letters wide, wide ones counting twice.

    >>> clipped("orders_daily", 20), clipped("orders_daily", 8)
    ('orders_daily', 'orders_…')
    >>> clipped("売上高の日次集計", 8)
    '売上高…'
    """
    plain = harmless(text).replace("\n", " ")
    wide = 0
    for place, letter in enumerate(plain):
        wide += _width(letter)
        if wide > room:
            kept = plain[:place]
            while kept and sum(map(_width, kept)) > room - 1:
                kept = kept[:-1]
            return f"{kept}…"
    return plain


def _width(letter: str) -> int:
    return 2 if east_asian_width(letter) in "WF" else 1


def _text(part: str) -> str:
    return part if isinstance(part, Markup) else escape(harmless(part))


def _value(value: Value | Mapping[str, str]) -> str:
    if isinstance(value, Mapping):
        value = ";".join(f"{key}:{each}" for key, each in value.items())
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return escape(harmless(str(value)))
