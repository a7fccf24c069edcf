"""What a script asks for that this version does not do yet."""

from __future__ import annotations

from tranche.model.script import Script


def not_built_yet(script: Script) -> str | None:
    """The first thing that a run of this script would need and cannot have, as a sentence."""
    annotations = script.annotations
    if annotations.dialect != "spark":
        return f"scripts in the dialect {annotations.dialect} cannot be run yet"
    return None
