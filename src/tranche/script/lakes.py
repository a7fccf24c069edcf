"""The lakes of a project by name, and complaints about names that are no lake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from tranche.errors import Fault, Place
from tranche.model.asset import LakeTable
from tranche.script.annotations import Header


@dataclass(frozen=True, slots=True)
class Lakes:
    """The names of a project's lakes, and which of them is meant when none is named."""

    names: frozenset[str]
    default: str

    def unlike(self, lake: str, also: Sequence[str] = ()) -> tuple[str, str]:
        """What is wrong with a name that is no lake, and what to write."""
        known = sorted({*self.names, *also})
        near = get_close_matches(lake, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the lakes are {', '.join(known)}"
        return f"unknown lake {lake!r}", hint


def unknown_lakes(path: str, header: Header, lakes: Lakes) -> list[Fault]:
    """The addresses of a header that name a lake which the project does not have."""
    return [
        Fault(Place(path, line), *lakes.unlike(asset.lake))
        for asset, line in header.addresses
        if isinstance(asset, LakeTable) and asset.lake not in lakes.names
    ]
