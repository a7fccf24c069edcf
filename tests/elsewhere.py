"""Sparks that tests start elsewhere: a server of Spark Connect, and a cluster of two workers."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

from tranche.lakes.catalogs import lake_conf, packages
from tranche.lakes.jars import JarCache, excluded
from tranche.projects.config import parse_settings

_SPARK = Path(pyspark.__file__).parent
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_PATIENCE = 120


@contextmanager
def two_workers() -> Iterator[str]:
    """The master of a cluster whose workers have one core each, and are processes of their own."""
    # They work in a folder of Spark's own, and leave there whatever they were given.
    folder = _SPARK / "work"
    before = set(folder.glob("*"))
    try:
        yield "local-cluster[2,1,1024]"
    finally:
        for left in set(folder.glob("*")) - before:
            # Another suite may have a cluster at the same time.
            if not any(place.is_relative_to(left) for place in _working_in()):
                shutil.rmtree(left, ignore_errors=True)


def _working_in() -> Iterator[Path]:
    """The folders in which processes work, as far as the system tells."""
    for process in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            yield process.readlink()


@contextmanager
def connect_server(folder: Path, lakes: str = "") -> Iterator[str]:
    """The address of a server that knows the formats of these settings, and no lake yet."""
    port = _free_port()
    conf = _conf(folder, port, lakes)
    options = [f"--conf={name}={value}" for name, value in conf.items()]
    command = [str(_SPARK / "bin" / "spark-submit"), "--class", _SERVER, *options, "spark-internal"]
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("TRANCHE_SPARK", "SPARK_"))}
    (folder / "events").mkdir()
    log = folder / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**environ, "SPARK_HOME": str(_SPARK)},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait(process, port, log)
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _conf(folder: Path, port: int, lakes: str) -> dict[str, str]:
    settings = parse_settings(lakes, folder, None, {})
    conf = {
        "spark.master": "local[2]",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -Xss4m",
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(folder / "spark-warehouse"),
        "spark.sql.extensions": lake_conf(settings)["spark.sql.extensions"],
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    jars = JarCache(packages(settings))
    found = jars.found()
    if found is not None:
        return {**conf, "spark.jars": ",".join(map(str, found))}
    return {
        **conf,
        "spark.jars.packages": ",".join(jars.packages),
        "spark.jars.excludes": ",".join(excluded(jars.packages)),
        "spark.jars.ivy": str(folder / "ivy"),
    }


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text(errors="replace")[-4000:])
