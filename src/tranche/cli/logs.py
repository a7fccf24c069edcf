"""What is logged on the side of runs, as warnings of the command."""

from __future__ import annotations

import logging
from contextlib import suppress

from tranche.cli.output import Output

_SHOWN = "tranche.openlineage"


class _Warnings(logging.Handler):
    def __init__(self, output: Output) -> None:
        super().__init__(logging.WARNING)
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        # It may come when the process is about to end, and somebody has closed everything.
        with suppress(Exception):
            self._output.warn(record.getMessage())


def show_warnings(output: Output) -> None:
    """Has the latest command say them."""
    logging.getLogger(_SHOWN).handlers[:] = [_Warnings(output)]
