"""Where a store is: a state url, read and made safe to show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, quote_plus

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from tranche.errors import StateUnavailable
from tranche.state.sqlite_file import FORMS, is_sqlite, sqlite_file

_SECRET_OPTIONS = ("password", "sslpassword", "oauth_client_secret")
_POSTGRESQL = ("postgresql+psycopg", "postgresql", "postgres")


@dataclass(frozen=True, slots=True)
class Address:
    """A state url that can be connected to, and what may be shown of it."""

    url: URL
    path: Path | None
    """The file, when it is SQLite."""

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    @property
    def shown(self) -> str:
        """The place as an error message may name it.

        >>> read_address("postgresql://ann:secret@db/shop").shown
        'postgresql+psycopg://ann:***@db/shop'
        """
        if self.path is not None:
            return str(self.path)
        hidden = {name: "***" for name in _SECRET_OPTIONS if name in self.url.query}
        return self.url.update_query_dict(hidden).render_as_string(hide_password=True)

    def without_secrets(self, text: str) -> str:
        """The text of a driver's error, which may quote the password."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def reveals_secrets(self, text: str) -> bool:
        return any(secret in text for secret in self._secrets)

    @property
    def _secrets(self) -> tuple[str, ...]:
        given = [self.url.password, *(self.url.query.get(name) for name in _SECRET_OPTIONS)]
        plain = [secret for secret in given if isinstance(secret, str) and secret]
        forms = {form for secret in plain for form in (secret, quote(secret), quote_plus(secret))}
        return tuple(sorted(forms, key=len, reverse=True))


def read_address(text: str, root: Path | None = None) -> Address:
    """The address in a state url; a relative file lies in `root`, else in the working folder.

    A url that cannot be read is not quoted: there is no telling where in it the password stands.
    """
    if is_sqlite(text):
        path = sqlite_file(text, root)
        return Address(URL.create("sqlite", database=str(path)), path)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise StateUnavailable("the state url cannot be read", FORMS) from None
    if text.split("://", 1)[-1].split("?", 1)[0].count("@") > 1:
        raise StateUnavailable(
            "the state url has more than one '@'", "write an '@' in the password as %40"
        )
    if url.drivername in _POSTGRESQL:
        return Address(url.set(drivername="postgresql+psycopg"), None)
    raise StateUnavailable(f"the state url is for '{url.drivername}', which cannot be used", FORMS)
