"""The command line: arguments to service to output."""

from __future__ import annotations


def main() -> None:
    from tranche.cli.app import run_app

    run_app()
