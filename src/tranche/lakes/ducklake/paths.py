"""Names of folders that tell values, as DuckDB and Spark read them, and addresses of files."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote, unquote

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
_SEGMENT = re.compile(r"([^/=]+)=([^/]*)")
_ESCAPED = re.compile("%([0-9A-Fa-f]{2})")
_LEGAL = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,;@+~!()$&'*:=/"
)
"""What Java leaves as it is in the path of an address; besides, what is neither ASCII nor a space
or a control character."""
_SPACES = ("Zs", "Zl", "Zp", "Cc")


def folder_name(column: str, value: str | None) -> str:
    """The name of a folder as DuckDB spells it: it compacts only files whose folders are alike.

    >>> folder_name("p", "a/b c"), folder_name("p", None), folder_name("p", "東")
    ('p=a%2Fb%20c', 'p=__HIVE_DEFAULT_PARTITION__', 'p=%E6%9D%B1')
    """
    return f"{quote(column, safe='')}={NULL_FOLDER if value is None else quote(value, safe='')}"


def segments(path: str) -> tuple[tuple[str, str], ...]:
    """The folders of a path that tell values, from above, as they are written.

    >>> segments("/data/t/p=a%2Fb/month=5/x.parquet")
    (('p', 'a%2Fb'), ('month', '5'))
    """
    found = (_SEGMENT.fullmatch(part) for part in path.split("/")[:-1])
    return tuple((match[1], match[2]) for match in found if match is not None)


def value_of(written: str) -> str | None:
    """The value that DuckDB reads from the name of a folder."""
    if written.lower() == "null" or written == NULL_FOLDER:
        return None
    return unquote(written)


Spelling = Literal["plain", "bytes"]
"""How Spark reads a folder: as it is meant, or each byte of UTF-8 as a sign of its own."""


def spelling(written: str) -> Spelling | None:
    """How Spark reads what DuckDB reads from the name of a folder; None if not at all.

    >>> spelling("a%2Fb"), spelling("%C3%A9"), spelling("é%C3%A9"), spelling(""), spelling("NULL")
    ('plain', 'bytes', None, None, None)
    """
    if not written or written.lower() == "null":
        return None
    spark, meant = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), written), unquote(written)
    if spark == meant:
        return "plain"
    return "bytes" if written.isascii() and spark.encode("latin-1") == meant.encode() else None


def address(path: str) -> str:
    """The path of a file as Spark's metadata has it, without the scheme.

    >>> address("/data/p=a%2Fb/é x.parquet")
    '/data/p=a%252Fb/é%20x.parquet'
    >>> address("/data/p=東　京")
    '/data/p=東%E3%80%80京'
    """
    return "".join(sign if _is_legal(sign) else quote(sign, safe="") for sign in path)


def _is_legal(sign: str) -> bool:
    return sign in _LEGAL or (ord(sign) > 127 and unicodedata.category(sign) not in _SPACES)


def below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder.rstrip('/')}/")


def clashes(names: Sequence[str], root: str) -> list[str]:
    """Which of these names the folders above a table already give a value to."""
    told = {name.lower() for name, _ in segments(f"{root}/x")}
    return [name for name in names if name.lower() in told]
