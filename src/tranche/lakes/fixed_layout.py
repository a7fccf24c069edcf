"""Tables of formats that lay a table out when it is made, once and for all."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from tranche.errors import ColumnsRejected
from tranche.lakes.table import Table, TableFacts
from tranche.model.layout import Transform, canonical


class FixedLayout(Table):
    """What such a table says to a script that asks for another layout."""

    kind: ClassVar[str]
    """What it is, as in "a Delta table"."""

    @abstractmethod
    def stated_layout(self, facts: TableFacts) -> str | None:
        """The layout that it was made with, if one was asked for."""

    def lay_out(self, layout: tuple[Transform, ...] | None, facts: TableFacts) -> None:
        stated = self.stated_layout(facts)
        self.split = stated is not None
        if layout is not None and canonical(layout) != stated:
            raise ColumnsRejected(
                f"{self.address} is laid out as {stated or 'it was made'}, and the script asks for"
                f" {canonical(layout)}: {self.kind} is laid out when it is made",
                "take the layout line back, or remove the table and run its partitions again",
            )

    def set_layout(self, transforms: tuple[Transform, ...]) -> None:
        raise ColumnsRejected(
            f"{self.kind} is laid out when it is made, and {self.address} is there",
            "remove it and run its partitions again with a layout line",
        )
