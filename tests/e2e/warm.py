"""Commands, one after the other, in one process and on one Spark.

Each line of standard input is a list of arguments; each line of standard output says how the
command ended and what it printed. Most of a command's time is the start of Spark, and most of the
rest, with `--without-spark`, that of Python.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import IO

from tranche import cli, service


def serve(questions: IO[str], answers: IO[str]) -> None:
    for line in questions:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


def answer(arguments: list[str]) -> tuple[int, str, str]:
    sys.argv = ["tranche", *arguments]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
        return code, text(out), text(err)


def text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "w") as first:
        if "--without-spark" in sys.argv:
            serve(sys.stdin, first)
        else:
            with service.open_engine(service.open_project(Path.cwd())) as engine:
                engine.start()
                serve(sys.stdin, first)
