"""The jars that Spark needs besides its own: resolved once, found again offline."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

ICEBERG: Final = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
DELTA: Final = "io.delta:delta-spark_4.1_2.13:4.4.0"
SQLITE: Final = "org.xerial:sqlite-jdbc:3.50.3.0"
LOCAL_FILES: Final = "com.globalmentor:hadoop-bare-naked-local-fs:0.1.0"
"""Files of this machine by Java's own means; 9 KB without anything that it needs."""
_AWS: Final = "2.29.52"
BUCKETS: Final = (
    # The version of the Hadoop that Spark brings, and the version of AWS that this was made with.
    "org.apache.hadoop:hadoop-aws:3.4.2",
    *(
        f"software.amazon.awssdk:{part}:{_AWS}"
        for part in ("s3", "s3-transfer-manager", "sts", "apache-client", "netty-nio-client")
    ),
)

_SHIPPED: Final = (
    "com.fasterxml.jackson.core:jackson-annotations",
    "com.fasterxml.jackson.core:jackson-core",
    "com.fasterxml.jackson.core:jackson-databind",
    "com.fasterxml.jackson.datatype:jackson-datatype-jdk8",
    "com.github.luben:zstd-jni",
    "com.google.code.findbugs:jsr305",
    "commons-logging:commons-logging",
    "commons-pool:commons-pool",
    "io.airlift:aircompressor",
    "io.unitycatalog:unitycatalog-client",
    "io.unitycatalog:unitycatalog-hadoop",
    "javax.annotation:javax.annotation-api",
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "org.apache.logging.log4j:log4j-api",
    "org.apache.logging.log4j:log4j-core",
    "org.apache.logging.log4j:log4j-slf4j2-impl",
    "org.apache.parquet:parquet-column",
    "org.apache.parquet:parquet-common",
    "org.apache.parquet:parquet-encoding",
    "org.apache.parquet:parquet-format-structures",
    "org.apache.parquet:parquet-hadoop",
    "org.apache.parquet:parquet-jackson",
    "org.locationtech.jts:jts-core",
    "org.roaringbitmap:RoaringBitmap",
    "org.roaringbitmap:shims",
    "org.slf4j:slf4j-api",
    "org.xerial.snappy:snappy-java",
)
"""What others ask for and Spark brings along already, often in another version, or never needs."""
_NOT_FOR_BUCKETS: Final = (
    "commons-codec:commons-codec",
    "io.netty:*",
    "org.apache.httpcomponents:*",
    "org.wildfly.openssl:wildfly-openssl",
    # All of AWS, half a gigabyte, of which the parts above are asked for.
    "software.amazon.awssdk:bundle",
)


def excluded(packages: Sequence[str]) -> tuple[str, ...]:
    """What is left out of what they ask for.

    >>> "software.amazon.awssdk:bundle" in excluded([ICEBERG, "org.apache.hadoop:hadoop-aws:3.4.2"])
    False
    """
    return (*_SHIPPED, *(_NOT_FOR_BUCKETS if {*BUCKETS} <= {*packages} else ()))


class JarCache:
    """One folder per list of packages, shared by all projects of a user."""

    def __init__(self, packages: Sequence[str], folder: Path | None = None) -> None:
        self.packages = tuple(packages)
        name = hashlib.sha256(",".join(sorted(packages)).encode()).hexdigest()[:16]
        self.folder = (folder or cache_folder()) / "jars" / name
        self._list = self.folder / "resolved.json"

    @property
    def lock(self) -> Path:
        return self.folder.with_suffix(".lock")

    def found(self) -> tuple[Path, ...] | None:
        """The jars of an earlier start, if they are all still there."""
        try:
            names = json.loads(self._list.read_text())
        except (OSError, ValueError):
            return None
        paths = tuple(self.folder / "jars" / name for name in names)
        return paths if paths and all(path.is_file() for path in paths) else None

    def remember(self) -> tuple[Path, ...] | None:
        """Notes what Spark's resolver put into the folder, and finds it there."""
        names = sorted(path.name for path in (self.folder / "jars").glob("*.jar"))
        if names:
            temporary = self._list.with_suffix(".new")
            temporary.write_text(json.dumps(names))
            os.replace(temporary, self._list)
        return self.found()


def cache_folder() -> Path:
    given = os.environ.get("TRANCHE_CACHE")
    return Path(given) if given else user_cache_path("tranche", appauthor=False)
