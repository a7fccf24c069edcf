"""The lineage of a whole script: its setup statements, then its SELECT."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tranche.model.asset import AssetUri
from tranche.model.columns import Columns
from tranche.model.lineage import ColumnLineage, Passed, ScriptLineage, Unknown
from tranche.model.script import Script
from tranche.model.statement import Statement
from tranche.model.strategy import PARTITION_COLUMN
from tranche.script.lineage.reading import Read, read
from tranche.script.lineage.relations import Column, Relation
from tranche.script.lineage.results import column_lineage, in_order, told
from tranche.script.lineage.scopes import Scope
from tranche.script.lineage.tracer import ColumnsOf, Tracer
from tranche.script.lineage.values import NOTHING

_NAMED = (
    *(exp.Column, exp.Table, exp.Dot, exp.Alias, exp.Aliases, exp.TableAlias, exp.PivotAlias),
    *(exp.Window, exp.Lambda, exp.PropertyEQ, exp.Kwarg, exp.ColumnDef, exp.Schema, exp.Join),
    *(exp.Pivot, exp.DeclareItem, exp.Slice, exp.DataType, exp.In, exp.Tuple),
)
"""What a name can be part of that is no column by itself."""
_MISLEADING = ("doublequotedidentifiers", "quotedregexcolumnnames")
"""Parts of settings by which what stands in quotes means something else."""
_ODD = Unknown("the SELECT has a form whose columns cannot be traced")
_DEEP = Unknown("the script is nested too deeply for its columns to be traced")


def script_lineage(script: Script, columns_of: ColumnsOf) -> ScriptLineage:
    """Where the columns of a script's SELECT come from, and what its text does not tell."""
    if script.language != "sql" or script.query is None:
        how = "runs Python" if script.language == "python" else "writes by itself"
        # Of the tasks of a job, which are all in one file, the line says which one it is.
        line = script.code.line if script.code is not None else None
        return ScriptLineage(unknown=(Unknown(f"the script {how}", line),), tables=script.reads)
    try:
        return _traced(script, columns_of)
    except RecursionError:
        return ScriptLineage(unknown=(_DEEP,), tables=script.reads)


class Lineages:
    """The lineages of scripts, each worked out once for the columns that it depends on."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[dict[AssetUri, Columns | None], ScriptLineage]]
        self._known = {}

    def of(self, script: Script, columns_of: ColumnsOf) -> ScriptLineage:
        key = (script.fingerprint, script.path, *(statement.line for statement in _all(script)))
        known = self._known.get(key)
        if known is not None and all(columns_of(asset) == then for asset, then in known[0].items()):
            return known[1]
        used: dict[AssetUri, Columns | None] = {}

        def noted(asset: AssetUri) -> Columns | None:
            used[asset] = columns_of(asset)
            return used[asset]

        try:
            found = script_lineage(script, noted)
        except Exception:
            # A tree of a form that nobody thought of: the other scripts are traced all the same.
            found = ScriptLineage(unknown=(_ODD,), tables=script.reads)
        self._known[key] = used, found
        return found


def _all(script: Script) -> Iterator[Statement]:
    yield from script.setup
    if script.query is not None:
        yield script.query


def _traced(script: Script, columns_of: ColumnsOf) -> ScriptLineage:
    reading = read(script)
    tracer = Tracer(columns_of, reading.lake_tables, reading.files)
    unknown: set[Unknown] = set()
    *setup, last = reading.statements
    for item in setup:
        tracer.first_line = item.statement.line
        unknown |= set(_set_up(tracer, item))
    if last.tree is None:
        return ScriptLineage(unknown=(Unknown("the SELECT cannot be read"),), tables=script.reads)
    tracer.first_line = last.statement.line
    found = tracer.query(last.tree)
    for item in reading.statements:
        if _is_traced(item):
            tracer.first_line = item.statement.line
            unknown |= {*item.misread, *_unseen(tracer, item)}
    return _result(script, tracer, found, unknown)


def _set_up(tracer: Tracer, item: Read) -> Iterator[Unknown]:
    """What a statement before the SELECT has to do with it."""
    tree, statement = item.tree, item.statement
    match tree:
        case exp.Create(kind="VIEW") if isinstance(tree.expression, exp.Query):
            found = tracer.query(tree.expression)
            names = [each.name for each in _view_columns(tree)]
            tracer.views[_view_name(tree)] = found.renamed(names) if names else found
            _mark_target(tracer, tree)
        case exp.Create(kind="VIEW"):
            tracer.views.pop(_view_name(tree), None)
            _mark_target(tracer, tree)
        case exp.Declare():
            for declared in tree.expressions:
                default = declared.args.get("default")
                given = isinstance(default, exp.Expr)
                value = tracer.value(default, Scope()) if given else NOTHING
                for name in declared.this if isinstance(declared.this, list) else [declared.this]:
                    tracer.variables[name.name.lower()] = value
        case exp.Set():
            # Of several variables that are set at once, only the first is told to be one.
            sets_variables = _sets_variables(tree)
            for each in tree.expressions:
                _set(tracer, each, variable=sets_variables)
            if any(name in tree.sql("spark").lower() for name in _MISLEADING):
                yield Unknown("by this setting texts are names of columns", statement.line)
        case exp.Command() if str(tree.this).upper() == "SET":
            yield Unknown("what the statement sets is not known", statement.line)
        case _ if any(statement.tables()) or any(statement.files()):
            yield Unknown("what the statement does with what it reads is not known", statement.line)


def _view_name(tree: exp.Expr) -> str:
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    return str(target.name).lower()


def _view_columns(tree: exp.Expr) -> list[exp.Expr]:
    return list(tree.this.expressions) if isinstance(tree.this, exp.Schema) else []


def _mark_target(tracer: Tracer, tree: exp.Expr) -> None:
    tracer.visited |= {id(node) for node in tree.this.find_all(exp.Table)}


def _sets_variables(tree: exp.Set) -> bool:
    return any(each.args.get("kind") == "VARIABLE" for each in tree.expressions)


def _set(tracer: Tracer, node: exp.Expr, *, variable: bool) -> None:
    """`SET VAR x = …` or `SET VAR (x, y) = …`; settings have nothing to do with columns."""
    pair = node.this
    if not variable or not isinstance(pair, exp.EQ):
        tracer.visited |= {id(column) for column in node.find_all(exp.Column)}
        return
    targets = list(pair.this.find_all(exp.Column))
    tracer.visited |= set(map(id, targets))
    value = tracer.value(pair.expression, Scope())
    for target in targets:
        tracer.variables[target.name.lower()] = value


def _is_traced(item: Read) -> bool:
    """Whether columns of the result may come through a statement: settings and functions aside."""
    match item.tree:
        case exp.Query() | exp.Values() | exp.Declare():
            return True
        case exp.Create(kind="VIEW"):
            return isinstance(item.tree.expression, exp.Query)
        case exp.Set():
            return _sets_variables(item.tree)
    return False


def _unseen(tracer: Tracer, item: Read) -> Iterator[Unknown]:
    """Columns and tables in the tree that nothing has looked at."""
    if item.tree is None:
        return
    for node in item.tree.find_all(exp.Column, exp.Table, exp.Identifier):
        if isinstance(node, exp.Identifier):
            seen = isinstance(node.parent, _NAMED) or _is_parameter(node)
        else:
            seen = id(node) in tracer.visited
        if seen or node.find_ancestor(exp.Hint) is not None:
            continue
        what = f"what {node.sql('spark')} has to do with the result is not known"
        yield Unknown(what, tracer.line(node))


def _is_parameter(node: exp.Identifier) -> bool:
    """Whether a name is that of a parameter of a lambda function around it."""
    function = node.find_ancestor(exp.Lambda)
    while function is not None:
        if any(each.name.lower() == node.name.lower() for each in function.expressions):
            return True
        function = function.find_ancestor(exp.Lambda)
    return False


def _result(
    script: Script, tracer: Tracer, found: Relation, unknown: set[Unknown]
) -> ScriptLineage:
    columns: list[ColumnLineage] = []
    passed: list[Passed] = []
    unknown |= found.unknown
    for item in found.items:
        if isinstance(item, Column):
            if item.name.lower() != PARTITION_COLUMN:
                columns.append(column_lineage(item.name, item.value))
            continue
        unknown.add(Unknown(f"the columns of {item.label} are not known"))
        if item.asset is not None:
            passed.append(Passed(item.asset, item.without))
    return ScriptLineage(
        columns=tuple(columns),
        rows=in_order(found.rows),
        passed=tuple(passed),
        unknown=told(unknown),
        tables=tuple(dict.fromkeys((*tracer.tables, *script.reads))),
        whole=frozenset(tracer.whole | found.stars | (set(script.reads) - set(tracer.tables))),
    )
