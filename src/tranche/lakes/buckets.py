"""The Spark settings with which it reads and writes a bucket."""

from __future__ import annotations

from tranche.model.project import Bucket

_FILES = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_CHAIN = "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
_GIVEN = "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
_GIVEN_FOR_A_TIME = "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"


def bucket_conf(bucket: Bucket) -> dict[str, str]:
    """What holds for one bucket, and that its addresses are those that DuckDB writes."""
    prefix = f"spark.hadoop.fs.s3a.bucket.{bucket.name}"
    provider = _GIVEN if bucket.session_token is None else _GIVEN_FOR_A_TIME
    told = {
        "endpoint": bucket.endpoint,
        "endpoint.region": bucket.told_region,
        "path.style.access": "true" if bucket.path_style else "false",
        "aws.credentials.provider": _CHAIN if bucket.access_key is None else provider,
        "access.key": bucket.access_key,
        "secret.key": bucket.secret_key,
        "session.token": bucket.session_token,
    }
    return {
        "spark.hadoop.fs.s3.impl": _FILES,
        **{f"{prefix}.{name}": value for name, value in told.items() if value is not None},
    }
