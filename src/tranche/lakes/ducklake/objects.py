"""Files in a bucket of S3, which has no folders but names with slashes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from importlib.util import find_spec
from typing import Any, TypeVar

from tranche.errors import BucketLost, CommitLost, EngineUnavailable
from tranche.lakes.ducklake.files import PARQUET, Files
from tranche.model.project import Bucket

_AT_ONCE = 16
"""How many requests are made at the same time."""
_LISTED = 1_000
"""How many objects are removed by a request."""
_PASSING = ("InternalError", "ServiceUnavailable", "SlowDown")
"""What a store says that may do it later."""
_T = TypeVar("_T")


class Objects(Files):
    def __init__(self, bucket: Bucket) -> None:
        if find_spec("boto3") is None:
            raise EngineUnavailable(
                "files in a bucket need the package boto3", "pip install 'tranche[ducklake]'"
            )
        self.bucket = bucket

    @cached_property
    def _client(self) -> Any:
        import boto3
        from botocore.config import Config

        bucket = self.bucket
        return boto3.session.Session().client(
            "s3",
            endpoint_url=bucket.endpoint,
            region_name=bucket.told_region,
            aws_access_key_id=bucket.access_key,
            aws_secret_access_key=bucket.secret_key,
            aws_session_token=bucket.session_token,
            config=Config(
                s3={"addressing_style": "path" if bucket.path_style else "auto"},
                retries={"mode": "standard", "max_attempts": 5},
                # Not all stores know the checksums that AWS takes.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
                max_pool_connections=_AT_ONCE,
            ),
        )

    def make_root(self, folder: str) -> None:
        """Buckets are made by those who own them; folders need not be."""
        with self._asking():
            self._client.head_bucket(Bucket=self.bucket.name)

    def names(self, folder: str) -> list[str]:
        prefix = self._key(folder) + "/"
        found = set()
        for page in self._pages(prefix, Delimiter="/"):
            found |= {
                each["Prefix"][len(prefix) :].rstrip("/") for each in page.get("CommonPrefixes", ())
            }
            found |= {each["Key"][len(prefix) :] for each in page.get("Contents", ())}
        return sorted(found - {""})

    def sizes(self, folder: str) -> dict[str, int]:
        return {
            self._address(each["Key"]): int(each["Size"])
            for each in self._below(folder)
            if each["Key"].endswith(PARQUET)
        }

    def exists(self, file: str) -> bool:
        key = self._key(file)
        return any(
            each["Key"] == key for page in self._pages(key) for each in page.get("Contents", ())
        )

    def text(self, file: str) -> str | None:
        with self._asking():
            try:
                found = self._client.get_object(Bucket=self.bucket.name, Key=self._key(file))
            except self._client.exceptions.NoSuchKey:
                return None
            return str(found["Body"].read().decode())

    def put(self, file: str, text: str) -> None:
        with self._asking():
            self._client.put_object(
                Bucket=self.bucket.name, Key=self._key(file), Body=text.encode()
            )

    def changed_at(self, place: str) -> datetime:
        key = self._key(place)
        found = [
            each["LastModified"]
            for page in self._pages(key)
            for each in page.get("Contents", ())
            if each["Key"] == key or each["Key"].startswith(f"{key}/")
        ]
        return max(found, default=datetime.now(UTC))

    def give_names(self, names: Sequence[tuple[str, str]]) -> None:
        def copy(pair: tuple[str, str]) -> None:
            file, name = pair
            source = {"Bucket": self.bucket.name, "Key": self._key(file)}
            try:
                self._client.copy(source, self.bucket.name, self._key(name))
            except self._client.exceptions.ClientError as error:
                if error.response.get("Error", {}).get("Code") != "404":
                    raise
                raise CommitLost(
                    f"{file} is gone, which waited for its commit", "run it again"
                ) from None

        self._at_once(copy, names)

    def remove(self, files: Iterable[str]) -> None:
        self._remove([self._key(file) for file in files])

    def remove_folder(self, folder: str) -> None:
        self._remove([each["Key"] for each in self._below(folder)])

    # Inside

    def _remove(self, keys: Sequence[str]) -> None:
        for begin in range(0, len(keys), _LISTED):
            some = [{"Key": key} for key in keys[begin : begin + _LISTED]]
            with self._asking():
                answer = self._client.delete_objects(
                    Bucket=self.bucket.name, Delete={"Objects": some, "Quiet": True}
                )
            for error in answer.get("Errors", ()):
                code = error.get("Code")
                said = (
                    f"the bucket {self.bucket.name!r} keeps {error.get('Key')}:"
                    f" {error.get('Message') or code}"
                )
                if code in _PASSING:
                    raise BucketLost(said, "run it again")
                raise EngineUnavailable(said, "see what the settings s3 of the lake allow")

    def _below(self, folder: str) -> list[dict[str, Any]]:
        pages = self._pages(self._key(folder) + "/")
        return [each for page in pages for each in page.get("Contents", ())]

    def _pages(self, prefix: str, **more: str) -> Iterator[dict[str, Any]]:
        with self._asking():
            listing = self._client.get_paginator("list_objects_v2")
            yield from listing.paginate(Bucket=self.bucket.name, Prefix=prefix, **more)

    def _at_once(self, act: Callable[[_T], None], each: Sequence[_T]) -> None:
        if not each:
            return
        with self._asking(), ThreadPoolExecutor(min(_AT_ONCE, len(each))) as threads:
            for _ in threads.map(act, each):
                pass

    def _key(self, address: str) -> str:
        root = f"s3://{self.bucket.name}/"
        if not address.startswith(root):
            raise EngineUnavailable(
                f"{address} is not in the bucket {self.bucket.name!r} of the lake",
                "keep the files of a lake in one bucket",
            )
        return address[len(root) :].rstrip("/")

    def _address(self, key: str) -> str:
        return f"s3://{self.bucket.name}/{key}"

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """What a bucket refuses, in a sentence."""
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

        place = f"the bucket {self.bucket.name!r}"
        try:
            yield
        except ClientError as error:
            about = error.response.get("Error", {})
            code = str(about.get("Code", ""))
            if code == "NoSuchBucket" or (code == "404" and error.operation_name == "HeadBucket"):
                raise EngineUnavailable(
                    f"there is no bucket {self.bucket.name!r}",
                    "make it, or correct data of the lake",
                ) from None
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            said = f"{place} refused: {about.get('Message') or code}"
            if code in _PASSING or status >= 500:
                raise BucketLost(said, "run it again") from None
            raise EngineUnavailable(
                said, "see what the settings s3 of the lake say, and what they allow"
            ) from None
        except NoCredentialsError:
            raise EngineUnavailable(
                f"nothing says who may use {place}",
                "give s3 of the lake an access_key and a secret_key, or set AWS_ACCESS_KEY_ID and"
                " AWS_SECRET_ACCESS_KEY",
            ) from None
        except BotoCoreError as error:
            raise BucketLost(
                f"{place} does not answer: {error}", "see the settings s3 of the lake"
            ) from None
