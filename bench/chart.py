"""The figures of backfills as a picture."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

TARGET = Path("docs/bench")


def draw(result: dict[str, Any], target: Path = TARGET) -> None:
    """Writes `backfill.png`, and the figures that it shows as `backfill.json`."""
    measured = {each["what"]: each for each in result["figures"]}
    of = next(what for what in measured if what.endswith("hand-written") and "days" in what)
    year = of.removesuffix(", hand-written")
    seconds = {
        "written by hand": measured[of]["value"],
        "Tranche, one job": measured[f"{year}, tranche"]["value"],
        "key by key": measured[f"{year}, key by key"]["value"],
    }
    target.mkdir(parents=True, exist_ok=True)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.2))
    colours = ["#9aa5b1", "#2f6f4f", "#c8553d"]
    bars = left.barh(list(seconds), list(seconds.values()), color=colours)
    left.bar_label(bars, [f"{value:.1f} s" for value in seconds.values()], padding=4)
    left.set_xlim(0, max(seconds.values()) * 1.25)
    left.invert_yaxis()
    left.set_title(year.removeprefix("backfill, "), fontsize=10)
    left.set_xlabel("seconds")
    grown = {
        int(what.split(", ")[2].split()[0].replace(",", "")): each["value"]
        for what, each in measured.items()
        if what.startswith("backfill, ") and what.endswith("days, tranche") and _keys(what)
    }
    right.loglog(list(grown), list(grown.values()), marker="o", color=colours[1])
    for keys, value in grown.items():
        right.annotate(f"{value:.1f} s", (keys, value), textcoords="offset points", xytext=(0, 8))
    right.set_title("the same rows in more keys", fontsize=10)
    right.set_xlabel("keys in one job")
    right.set_ylabel("seconds")
    right.margins(0.15, 0.3)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(target / "backfill.png", dpi=130)
    backfills = [each for each in result["figures"] if each["what"].startswith("backfill")]
    kept = {"machine": result["machine"], "figures": backfills}
    (target / "backfill.json").write_text(json.dumps(kept, indent=2) + "\n")


def _keys(what: str) -> bool:
    rows, days = what.split(", ")[1:3]
    return days.split()[0] != "365" and rows.endswith("rows")


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()))
