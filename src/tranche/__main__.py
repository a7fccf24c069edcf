"""`python -m tranche` is the command `tranche`."""

from tranche.cli.app import run_app

if __name__ == "__main__":
    run_app()
