"""Addresses of servers of Spark Connect: `sc://host:port/;name=value;…`."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, unquote, urlsplit

_PORT = 15002


def endpoint(url: str) -> str:
    """Where a server is, without what else its address may hold.

    >>> endpoint("sc://spark.example.com/;token=hidden")
    'spark.example.com:15002'
    """
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or _PORT}"


def parameter(url: str, name: str) -> str | None:
    """
    >>> parameter("sc://host:15002/;use_ssl=true;user_id=a%20b", "user_id")
    'a b'
    >>> parameter("sc://host", "user_id")
    """
    for pair in url.partition("/;")[2].split(";"):
        key, _, value = pair.partition("=")
        if key == name:
            return unquote(value)
    return None


def with_parameters(url: str, parameters: Mapping[str, str]) -> str:
    """The address with more said in it; what is said last holds.

    >>> with_parameters("sc://host", {"session_id": "1"})
    'sc://host/;session_id=1'
    >>> with_parameters("sc://host:15002/;use_ssl=true", {"user_id": "a b"})
    'sc://host:15002/;use_ssl=true;user_id=a%20b'
    """
    if not parameters:
        return url
    place, _, known = url.partition("/;")
    more = [f"{name}={quote(value, safe='')}" for name, value in parameters.items()]
    return f"{place.rstrip('/')}/;{';'.join([*filter(None, [known]), *more])}"
