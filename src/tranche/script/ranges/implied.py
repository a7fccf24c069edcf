"""What a comparison with the key says of all keys together.

`day = '{partition}'` becomes a join with the keys, and Spark does not see that only some days are
read. What it implies for the column alone, `day IN (…)`, it can push into the scan. A comparison
`c` becomes `(c AND i)` where `i` follows from `c` for each of the keys, so that nothing changes:
where `c` is true `i` is, and where `c` is unknown `i` is unknown too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token
from sqlglot.tokenizer_core import TokenType as T

from tranche.model.statement import Operator
from tranche.script.ranges.marks import Holes
from tranche.script.ranges.shape import Span

_OPERATORS: dict[T, Operator] = {
    T.EQ: "=",
    T.GT: ">",
    T.GTE: ">=",
    T.LT: "<",
    T.LTE: "<=",
}
_TURNED: dict[Operator, Operator] = {"=": "=", ">": "<", ">=": "<=", "<": ">", "<=": ">="}
_BEFORE = (T.WHERE, T.AND, T.ON, T.L_PAREN, T.HAVING, T.OR, T.WHEN, T.NOT)
_BEHIND = (
    *(T.AND, T.OR, T.R_PAREN, T.GROUP_BY, T.ORDER_BY, T.HAVING, T.WINDOW, T.THEN, T.LIMIT),
    *(T.UNION, T.EXCEPT, T.INTERSECT, T.JOIN, T.LEFT, T.RIGHT, T.FULL, T.INNER, T.CROSS),
    *(T.SEMI, T.ANTI, T.NATURAL, T.WHERE, T.LATERAL, T.COMMA),
)
_OPENS = (T.L_PAREN, T.L_BRACKET)
_CLOSES = (T.R_PAREN, T.R_BRACKET)
_SIGNS = (T.PLUS, T.DASH, T.STAR, T.SLASH, T.DPIPE, T.DCOLON, T.DOT)
_VALUES = (T.NUMBER, T.STRING)
_UNITS = frozenset(
    f"{unit}{plural}"
    for unit in ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
    for plural in ("", "s")
)
_FUNCTIONS = frozenset(
    {
        *("add_months", "cast", "concat", "date", "date_add", "date_format", "date_sub"),
        *("date_trunc", "dateadd", "int", "bigint", "last_day", "lower", "make_date"),
        *("month", "next_day", "replace", "string", "substr", "substring", "timestamp"),
        *("to_date", "to_timestamp", "trunc", "try_cast", "upper", "year", "day", "left", "right"),
    }
)
"""Those that depend on nothing but what they are given."""
_WORDS = frozenset({"as", "interval", "date", "timestamp", "string", "int", "bigint", "to"})


@dataclass(frozen=True, slots=True)
class Compared:
    """What is made of columns alone, beside what is made of the key alone."""

    whole: Span
    column: Span
    limits: tuple[tuple[Operator, Span], ...]


def comparisons(tokens: list[Token], holes: Holes) -> Iterator[Compared]:
    """The comparisons with the key that a scan could make use of."""
    for at in range(len(tokens)):
        kind = tokens[at].token_type
        if kind is T.BETWEEN:
            found = _between(tokens, holes, at)
            if found is not None:
                yield found
        elif kind in _OPERATORS:
            left, right = _left(tokens, at), _right(tokens, at)
            if left is None or right is None:
                continue
            whole, operator = Span(left.start, right.end), _OPERATORS[kind]
            if _is_value(tokens, holes, right) and _is_column(tokens, holes, left):
                yield Compared(whole, left, ((operator, right),))
            elif _is_value(tokens, holes, left) and _is_column(tokens, holes, right):
                yield Compared(whole, right, ((_TURNED[operator], left),))


def _between(tokens: list[Token], holes: Holes, at: int) -> Compared | None:
    left, low = _left(tokens, at), _right(tokens, at)
    if left is None or low is None or tokens[low.end].token_type is not T.AND:
        return None
    high = _right(tokens, low.end)
    if high is None or not _is_column(tokens, holes, left):
        return None
    if not (_is_value(tokens, holes, low) and _is_value(tokens, holes, high)):
        return None
    return Compared(Span(left.start, high.end), left, ((">=", low), ("<=", high)))


def _left(tokens: list[Token], at: int) -> Span | None:
    """The operand before an operator."""
    start = at
    while start > 0:
        kind = tokens[start - 1].token_type
        if kind in _CLOSES:
            start = _opening(tokens, start - 1)
            if start < 0:
                return None
        elif kind in _BEFORE:
            return Span(start, at) if start < at else None
        elif kind in (*_OPERATORS, T.NEQ, T.NULLSAFE_EQ, T.BETWEEN, T.COMMA, T.CASE, T.ELSE):
            return None
        else:
            start -= 1
    return None


def _right(tokens: list[Token], at: int) -> Span | None:
    """The operand behind an operator."""
    end = at + 1
    while end < len(tokens):
        kind = tokens[end].token_type
        if kind in _OPENS:
            end = _closing(tokens, end) + 1
        elif kind in _BEHIND and not (kind in (T.LEFT, T.RIGHT) and _calls(tokens, end)):
            break
        elif kind in (*_OPERATORS, T.NEQ, T.NULLSAFE_EQ, T.BETWEEN, T.IN, T.LIKE, T.IS, T.END):
            return None
        else:
            end += 1
    return Span(at + 1, end) if end > at + 1 else None


def _is_value(tokens: list[Token], holes: Holes, span: Span) -> bool:
    """Whether it is made of the key, and of nothing else that is not constant."""
    if not any(at in holes.keys for at in range(*span)):
        return False
    for at in range(*span):
        token = tokens[at]
        word = token.text.lower()
        if at in holes.keys or token.token_type in (*_SIGNS, *_VALUES, *_OPENS, *_CLOSES, T.COMMA):
            continue
        known = word in _FUNCTIONS if _calls(tokens, at) else word in _WORDS or word in _UNITS
        if not known and word not in ("date", "timestamp"):
            return False
    return True


def _is_column(tokens: list[Token], holes: Holes, span: Span) -> bool:
    """Whether it is made of columns by functions that cost little, without the key."""
    words = range(*span)
    named = any(tokens[at].token_type in (T.VAR, T.IDENTIFIER) for at in words)
    depends = any(at in holes.keys or at in holes.files for at in words)
    # It will be worked out more than once for each row.
    cheap = all(tokens[at].text.lower() in _FUNCTIONS for at in words if _calls(tokens, at))
    return named and cheap and not depends


def _calls(tokens: list[Token], at: int) -> bool:
    return at + 1 < len(tokens) and tokens[at + 1].token_type is T.L_PAREN


def _opening(tokens: list[Token], at: int) -> int:
    depth = 0
    for position in range(at, -1, -1):
        kind = tokens[position].token_type
        depth += (kind in _CLOSES) - (kind in _OPENS)
        if depth == 0:
            return position
    return -1


def _closing(tokens: list[Token], at: int) -> int:
    depth = 0
    for position in range(at, len(tokens)):
        kind = tokens[position].token_type
        depth += (kind in _OPENS) - (kind in _CLOSES)
        if depth == 0:
            return position
    return len(tokens) - 1
