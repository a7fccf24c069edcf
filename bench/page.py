"""The figures of backfills in the documentation, from the JSON that the last run wrote."""

from __future__ import annotations

import json
from pathlib import Path

_PAGE, _FIGURES = Path("docs/benchmarks.md"), Path("docs/bench/backfill.json")
_START, _END = "<!-- figures -->", "<!-- end of figures -->"


def table() -> str:
    found = json.loads(_FIGURES.read_text())
    machine = found["machine"]
    lines = [
        f"Measured on {machine['cores']} cores with {machine['memory']} of memory,"
        f" {machine['system']}, Python {machine['python']}, Spark {machine['spark']}:",
        "",
        "| what | measured | limit |",
        "|---|---|---|",
    ]
    for each in found["figures"]:
        limit = "" if each["limit"] is None else f"{each['limit']:g} {each['unit']}"
        if limit and each["least"]:
            limit = f"at least {limit}"
        what = each["what"].removeprefix("backfill, ")
        lines.append(f"| {what} | {each['value']:.2f} {each['unit']} | {limit} |")
    return "\n".join(lines)


def write() -> None:
    """Puts them where the page has its mark."""
    text = _PAGE.read_text()
    before, _, rest = text.partition(_START)
    _, _, after = rest.rpartition(_END)
    _PAGE.write_text(f"{before}{_START}\n{table()}\n\n{_END}{after or rest}")


if __name__ == "__main__":
    write()
