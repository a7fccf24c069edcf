"""Names of runs and attempts: in the order of time, and never twice."""

from __future__ import annotations

import secrets
from datetime import datetime


def new_id(now: datetime) -> str:
    """
    >>> from datetime import UTC
    >>> new_id(datetime(2026, 5, 16, 9, 30, tzinfo=UTC))[:22]
    '20260516T093000-000000'
    """
    return f"{now:%Y%m%dT%H%M%S}-{now:%f}{secrets.token_hex(3)}"
