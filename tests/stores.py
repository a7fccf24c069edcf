"""A store that answers as S3 does, in this process."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
from moto.server import ThreadedMotoServer

KEY, SECRET = "somebody", "hunter22-hunter22"


@dataclass(frozen=True, slots=True)
class Store:
    """Where it is, and a client of it."""

    endpoint: str
    client: Any

    def lake(self, bucket: str, folder: str) -> str:
        """The settings of a lake whose files are in it."""
        return (
            f'data = "s3://{bucket}/{folder}"\n'
            f's3 = {{ endpoint = "{self.endpoint}", access_key = "{KEY}", secret_key = "{SECRET}" }}\n'
        )

    def keys(self, bucket: str, prefix: str = "") -> set[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        return {each["Key"] for page in pages for each in page.get("Contents", ())}


@contextmanager
def store(*buckets: str) -> Iterator[Store]:
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        )
        for bucket in buckets:
            client.create_bucket(Bucket=bucket)
        yield Store(endpoint, client)
    finally:
        server.stop()
