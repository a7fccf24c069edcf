"""How DuckDB reaches a bucket."""

from __future__ import annotations

from tranche.lakes.ducklake.duck import literal
from tranche.model.project import Bucket


def access_extensions(bucket: Bucket | None) -> tuple[str, ...]:
    """The extensions that it takes."""
    if bucket is None:
        return ()
    return ("httpfs",) if bucket.access_key is not None else ("httpfs", "aws")


def access_statement(bucket: Bucket) -> str:
    """The statement that tells DuckDB, in memory, who may use it.

    >>> print(access_statement(Bucket(name="lake", access_key="it's", secret_key="x", region="eu-west-1")))
    CREATE SECRET (TYPE s3, SCOPE 's3://lake', REGION 'eu-west-1', KEY_ID 'it''s', SECRET 'x')
    """
    told: dict[str, str | None] = {"SCOPE": f"s3://{bucket.name}", "REGION": bucket.told_region}
    kind = ["TYPE s3"]
    if bucket.access_key is None:
        # The environment, the files of AWS or the role of the machine; a role is asked anew.
        kind += ["PROVIDER credential_chain", "REFRESH auto"]
    else:
        told |= {
            "KEY_ID": bucket.access_key,
            "SECRET": bucket.secret_key,
            "SESSION_TOKEN": bucket.session_token,
        }
    if bucket.endpoint is not None:
        scheme, _, host = bucket.endpoint.partition("://")
        kind.append(f"USE_SSL {'true' if scheme == 'https' else 'false'}")
        told["ENDPOINT"] = host
    if bucket.path_style:
        told["URL_STYLE"] = "path"
    given = [f"{name} {literal(value)}" for name, value in told.items() if value is not None]
    return f"CREATE SECRET ({', '.join([*kind, *given])})"
