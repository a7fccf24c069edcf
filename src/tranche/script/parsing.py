"""One statement as a tree: what kind it is, what it writes, which view it makes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import exp
from sqlglot.dialects import Databricks, Spark
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from tranche.model.statement import StatementKind
from tranche.script.tokens import SPARK

_DATABRICKS = Databricks()
_TABLES = ("TABLE", "VIEW")
BRACKETS = {
    TokenType.L_PAREN: 1,
    TokenType.R_PAREN: -1,
    TokenType.L_BRACKET: 1,
    TokenType.R_BRACKET: -1,
}
_WRITES_THIS = (
    exp.Insert,
    exp.Update,
    exp.Delete,
    exp.Merge,
    exp.Create,
    exp.Alter,
    exp.AlterRename,
    exp.Comment,
    exp.LoadData,
    exp.Copy,
)

_COMMANDS = (
    ("ALTER", "TABLE"),
    ("REPLACE", "TABLE"),
    ("RESTORE", "TABLE"),
    ("OPTIMIZE",),
    ("VACUUM",),
)


class Unparsed(Exception):
    """A statement that cannot be read: what is wrong, and where as far as that is known."""

    def __init__(self, what: str, line: int | None) -> None:
        super().__init__(what)
        self.what = what
        self.line = line


def parse(tokens: list[Token], text: str) -> exp.Expr:
    """The tree of one statement of Spark SQL."""
    if tokens[0].text.upper() == "RESET":
        return exp.Command(this="RESET")
    known = _without_schema_evolution(tokens)
    try:
        return _tree(SPARK, known, text)
    except SqlglotError as error:
        try:
            # It knows a few forms that the Spark dialect lacks, such as `variant:field.field`.
            return _tree(_DATABRICKS, known, text)
        except SqlglotError:
            raise _explained(error) from None


def _tree(dialect: Spark, tokens: list[Token], text: str) -> exp.Expr:
    trees: list[exp.Expr | None] = list(dialect.parser().parse(tokens, text))
    if len(trees) != 1 or trees[0] is None:
        raise ParseError("it is no statement")
    return trees[0]


def _without_schema_evolution(tokens: list[Token]) -> list[Token]:
    """`MERGE WITH SCHEMA EVOLUTION INTO` without the words that the parser does not know."""
    words = [token.text.upper() for token in tokens[:4]]
    return [tokens[0], *tokens[4:]] if words == ["MERGE", "WITH", "SCHEMA", "EVOLUTION"] else tokens


def _explained(error: SqlglotError) -> Unparsed:
    first = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    what = str(first.get("description") or "it is no Spark SQL")
    what = re.sub(r" but got <Token.*", "", what, flags=re.DOTALL).rstrip(". ")
    near = str(first.get("highlight") or "").strip()
    at = f" at {near!r}" if near else ""
    line = first.get("line")
    return Unparsed(f"the statement does not parse{at}: {what}", int(line) if line else None)


def is_balanced(tokens: list[Token]) -> bool:
    """Whether every bracket is closed, and none that was not opened."""
    depth = 0
    for token in tokens:
        depth += BRACKETS.get(token.token_type, 0)
        if depth < 0:
            return False
    return depth == 0


def kind_of(tree: exp.Expr, tokens: list[Token]) -> StatementKind:
    if isinstance(tree, exp.Query | exp.Values):
        return "select"
    if tokens[0].text.upper() in ("SET", "RESET", "DECLARE") or _temporary(tokens) is not None:
        return "setup"
    return "other"


def created_view(tree: exp.Expr | None, tokens: list[Token]) -> str | None:
    """The name that a statement gives to a view of the session, global ones aside."""
    if isinstance(tree, exp.Cache) and tree.expression:
        return str(tree.this.name)
    made = _temporary(tokens)
    return made.name if made is not None and made.what == "VIEW" and not made.is_global else None


def is_temporary(tree: exp.Expr | None, tokens: list[Token]) -> bool:
    """Whether a statement makes something that ends with the session."""
    return _temporary(tokens) is not None or created_view(tree, tokens) is not None


class _Temporary(NamedTuple):
    what: str
    name: str
    is_global: bool


def _temporary(tokens: list[Token]) -> _Temporary | None:
    """`CREATE [OR REPLACE] [GLOBAL] TEMP VIEW [IF NOT EXISTS] name`, or a function."""
    words = [token.text.upper() for token in tokens[:10]] + [""] * 10
    if words[0] != "CREATE":
        return None
    at = 3 if words[1:3] == ["OR", "REPLACE"] else 1
    is_global = words[at] == "GLOBAL"
    at += is_global
    what = words[at + 1]
    if words[at] not in ("TEMP", "TEMPORARY") or what not in ("VIEW", "FUNCTION"):
        return None
    at += 5 if words[at + 2 : at + 5] == ["IF", "NOT", "EXISTS"] else 2
    return _Temporary(what, tokens[at].text if at < len(tokens) else "", is_global)


def named_tables(tree: exp.Expr) -> Iterator[exp.Table]:
    """The nodes that name a table. Functions, schemas and hints are named by such nodes too."""
    for node in tree.find_all(exp.Table):
        parent = node.parent
        if isinstance(parent, exp.UserDefinedFunction | exp.Use) or node.find_ancestor(exp.Hint):
            continue
        kind = parent.args.get("kind") if isinstance(parent, exp.Create | exp.Drop) else None
        if kind is not None and node.arg_key in ("this", "tables") and kind not in _TABLES:
            continue
        yield node


def is_written(table: exp.Table) -> bool:
    """Whether a statement changes the table that is named here."""
    node: exp.Expr = table
    while isinstance(node.parent, exp.Schema | exp.Alias) and node.arg_key == "this":
        node = node.parent
    if isinstance(node.parent, exp.Drop):
        return node.arg_key == "tables"
    if isinstance(node.parent, exp.TruncateTable):
        return True
    if isinstance(node.parent, exp.Cache):
        return bool(node.parent.expression)
    return isinstance(node.parent, _WRITES_THIS) and node.arg_key == "this"


def command_target(tokens: list[Token]) -> list[Token]:
    """The parts of the name after the verb of a command that has no tree, such as
    `ALTER TABLE main.orders WRITE ORDERED BY day`."""
    words = tuple(token.text.upper() for token in tokens[:3])
    verb = next((verb for verb in _COMMANDS if words[: len(verb)] == verb), None)
    if verb is None:
        return []
    parts: list[Token] = []
    for token in tokens[len(verb) :: 2]:
        parts.append(token)
        following = tokens[len(verb) + 2 * len(parts) - 1 :][:1]
        if not following or following[0].token_type is not TokenType.DOT:
            break
    return parts
