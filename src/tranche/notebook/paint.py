"""What standings look like: a colour, and a sign and a word that say the same.

Nobody tells an output whether its notebook is light or dark. So text has the colour that the
notebook gives it, and each colour here stands out from white as well as from black.
"""

from __future__ import annotations

from collections.abc import Mapping

from tranche.notebook.markup import Markup, element
from tranche.planning import board
from tranche.service import overview

COLOURS: Mapping[overview.Standing | board.Standing, str] = {
    "fresh": "#2a9464",
    "succeeded": "#2a9464",
    "stale": "#b5761a",
    "provisional": "#8a6fd1",
    "running": "#3d7be0",
    "failed": "#d64545",
    "cancelled": "#b0558f",
    "never": "#7b8494",
    "missing": "#7b8494",
    "source": "#7b8494",
}
SIGNS: Mapping[overview.Standing | board.Standing, str] = {
    "fresh": "✓",
    "succeeded": "✓",
    "stale": "◐",
    "provisional": "◔",
    "running": "▶",
    "failed": "✗",
    "cancelled": "⊘",
    "never": "○",
    "missing": "○",
    "source": "◇",
}
ORDER: tuple[board.Standing, ...] = (
    *("failed", "running", "cancelled", "stale", "provisional", "missing", "succeeded"),
)
"""Which standing of several is told first."""
LETTERS = "system-ui,-apple-system,'Segoe UI',sans-serif"
FAINT = {"opacity": ".72"}


def badge(standing: overview.Standing | board.Standing, number: int | None = None) -> Markup:
    """The sign and the word of a standing, and how many stand so."""
    return element(
        "span",
        element("span", SIGNS[standing], style={"color": COLOURS[standing]}),
        f" {standing}" if number is None else f" {standing} {number:,}",
        style={
            "border": f"1px solid {COLOURS[standing]}",
            "border-radius": "9px",
            "padding": "0 7px",
            "margin-right": "6px",
            "white-space": "nowrap",
        },
    )


def sheet(*inside: Markup) -> Markup:
    """All of an output."""
    return element(
        "div",
        *inside,
        style={"font": f"13px/1.6 {LETTERS}", "color": "inherit", "max-width": "100%"},
    )


def line(*inside: str, **style: str) -> Markup:
    return element("div", *inside, style={"margin": "4px 0", **style})


def note(*inside: str) -> Markup:
    """A sentence beside the facts."""
    return line(*inside, **FAINT)


def trouble(*inside: str) -> Markup:
    """What went wrong, with its sign."""
    return element(
        "div",
        element("span", "✗ ", style={"color": COLOURS["failed"]}),
        *inside,
        style={
            "border-left": f"3px solid {COLOURS['failed']}",
            "padding": "1px 8px",
            "margin": "3px 0",
            "overflow-wrap": "anywhere",
        },
    )


def code(text: str) -> Markup:
    return element("code", text, style={"background": "none", "color": "inherit"})


def picture(*inside: Markup, wide: float, high: float, label: str) -> Markup:
    """A drawing of a size, which can be scrolled where a notebook has less room."""
    drawn = element(
        "svg",
        *inside,
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        aria_label=label,
        width=round(wide),
        height=round(high),
        viewBox=f"0 0 {round(wide)} {round(high)}",
        font_family=LETTERS,
        font_size=11,
        fill="currentColor",
        style={"max-width": "none"},
    )
    return element("div", drawn, style={"overflow": "auto", "max-height": "640px"})
