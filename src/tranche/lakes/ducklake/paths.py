"""Names of folders that tell values, as DuckDB and Spark read them, and addresses of files."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from urllib.parse import quote, unquote

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
_SEGMENT = re.compile(r"([^/=]+)=([^/]*)")
_KEPT = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,;@+~ !()")
_LEGAL = _KEPT - {" "} | frozenset("$&'*:=/")
"""What Java leaves as it is in the path of an address; besides, what is neither ASCII nor a space
or a control character."""
_SPACES = ("Zs", "Zl", "Zp", "Cc")


def folder_name(column: str, value: str | None) -> str:
    """The name of a folder, of which DuckDB and Spark make the same value.

    >>> folder_name("p", "a/b"), folder_name("p", None), folder_name("p", "null")
    ('p=a%2Fb', 'p=__HIVE_DEFAULT_PARTITION__', 'p=%6Eull')
    """
    if value is None:
        return f"{encoded(column)}={NULL_FOLDER}"
    text = encoded(value)
    if value.lower() == "null" or value == NULL_FOLDER:
        # Either would be taken for NULL as it is.
        text = f"%{ord(text[0]):02X}{text[1:]}"
    return f"{encoded(column)}={text}"


def encoded(text: str) -> str:
    """What is beyond ASCII stays: Spark decodes byte by byte."""
    return "".join(
        sign if sign in _KEPT or ord(sign) > 127 else f"%{ord(sign):02X}" for sign in text
    )


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


def reads_alike(written: str) -> bool:
    """Whether Spark reads the same from the name of a folder as DuckDB does.

    >>> reads_alike("a%2Fb"), reads_alike("%C3%A9"), reads_alike(""), reads_alike("NULL")
    (True, False, False, False)
    """
    if not written or written.lower() == "null":
        return False
    spark = re.sub("%([0-9A-Fa-f]{2})", lambda match: chr(int(match[1], 16)), written)
    return spark == unquote(written)


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
