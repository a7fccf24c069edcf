"""A lake for Python programs: `tranche.lake("main")`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tranche import service
from tranche.errors import ConfigError, UnknownSnapshot, UsageError
from tranche.model.asset import BadAddress, LakeTable, parse_address
from tranche.model.data_test import DataTestResult
from tranche.model.partitioning import Partitioning
from tranche.model.strategy import Append, History, Merge, Replace, SchemaPolicy, Strategy
from tranche.run.runner import PATIENCE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tranche.lakes.engine import SparkEngine
    from tranche.ports import StateStore

Columns: TypeAlias = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Published:
    """What came of a write; its readers see it."""

    run: str
    asset: str
    partition: str | None
    rows: int | None
    """How many the slice has."""
    snapshot: str | None
    tests: tuple[DataTestResult, ...] = ()
    warnings: tuple[str, ...] = ()


class OpenLake:
    """Reads and writes tables of one lake, as scripts do: with claims, data tests and the ledger.

    Frames of Spark, pandas and Polars and Arrow tables can be written. Spark starts when it is
    first needed, unless it is running already, and stops with `close` if it was started here.
    """

    def __init__(self, name: str, project: Path, target: str | None = None) -> None:
        self._project = service.open_project(project, target)
        known = self._project.settings.lakes
        if name not in known:
            raise ConfigError(
                f"the project has no lake {name!r}", f"its lakes are {', '.join(known)}"
            )
        self.name = name
        self._open = ExitStack()
        self._engine: SparkEngine | None = None
        self._store: StateStore | None = None
        self._session: SparkSession | None = None

    def __repr__(self) -> str:
        return f"lake({self.name!r})"

    def __enter__(self) -> OpenLake:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._open.close()
        self._engine = self._store = self._session = None

    @property
    def spark(self) -> SparkSession:
        """A session in which the project's lakes are catalogs, as in `main.orders`."""
        if self._session is None:
            self._session = self._started().session()
        return self._session

    def read(
        self,
        table: str,
        *,
        partition: str | None = None,
        partitions: Sequence[str] | None = None,
        snapshot: str | int | None = None,
    ) -> DataFrame:
        """The rows of a table, of one slice or of several, now or at a snapshot.

        The rows of one slice come without the column that names it, so that they can be written
        back.
        """
        from tranche.lakes.reading import rows_of
        from tranche.model.strategy import PARTITION_COLUMN

        if partition is not None and partitions is not None:
            raise UsageError("partition= and partitions= are both given", "give one of them")
        if isinstance(partitions, str):
            raise UsageError("partitions= is one text", "give a list, or use partition=")
        if snapshot is not None and not str(snapshot).isdigit():
            raise UnknownSnapshot(f"{snapshot!r} is no snapshot", "give its number")
        keys = (partition,) if partition is not None else partitions
        rows = rows_of(
            self._started().table(self.spark, self._table(table)),
            partitions=keys,
            snapshot=None if snapshot is None else str(snapshot),
        )
        return rows.drop(PARTITION_COLUMN) if partition is not None else rows

    def replace(self, table: str, rows: Any, **options: Any) -> Published:
        """The slice becomes exactly these rows; see `_write` for the options."""
        return self._write(table, Replace(), rows, **options)

    def upsert(self, table: str, rows: Any, key: Columns, **options: Any) -> Published:
        """Rows take the place of those with their key; others stay."""
        return self._write(table, Merge(_names(key, "key")), rows, **options)

    def append(self, table: str, rows: Any, **options: Any) -> Published:
        """The rows come to those which are there."""
        return self._write(table, Append(), rows, **options)

    def history(
        self,
        table: str,
        rows: Any,
        key: Columns,
        *,
        track: Columns = (),
        deletes: Literal["close"] | None = None,
        at: str | None = None,
        **options: Any,
    ) -> Published:
        """Every version of every row is kept, with the time for which it held."""
        tracked = _names(track, "track") if track else ()
        strategy = History(_names(key, "key"), tracked, deletes == "close", at)
        return self._write(table, strategy, rows, **options)

    def _write(
        self,
        table: str,
        strategy: Strategy,
        rows: Any,
        *,
        partition: str | None = None,
        partitioning: Partitioning | None = None,
        tests: Sequence[str] = (),
        layout: str | None = None,
        on_schema_change: SchemaPolicy | None = None,
        wait: float = PATIENCE,
    ) -> Published:
        """Writes one slice.

        `partition` is its key, and `partitioning` the rule of its keys; a script that makes the
        table has declared it. `tests` are data tests as in `-- data_test` lines, `layout` is the
        text of a `-- layout` line. `wait` is how many seconds to wait for another run that writes
        the same slice.
        """
        result = service.write(
            self._project,
            self._started(),
            self._recording(),
            service.Given(
                table=self._table(table),
                strategy=strategy,
                rows=rows,
                partition=partition,
                partitioning=partitioning,
                tests=tuple(tests),
                layout=layout,
                on_schema_change=on_schema_change,
            ),
            patience=wait,
        )
        step = result.steps[0]
        return Published(
            run=result.id,
            asset=str(step.record.asset),
            partition=step.record.partition,
            rows=step.record.rows,
            snapshot=step.record.snapshot,
            tests=step.tests,
            warnings=result.warnings,
        )

    def _table(self, text: str) -> LakeTable:
        try:
            found = parse_address(text if "://" in text else f"lake://{self.name}/{text}")
        except BadAddress as error:
            raise UsageError(str(error)) from None
        if not isinstance(found, LakeTable) or found.lake != self.name:
            raise UsageError(f"{text!r} is no table of the lake {self.name!r}", "name one of its")
        return found

    def _started(self) -> SparkEngine:
        if self._engine is None:
            from tranche.lakes.engine import SparkEngine

            engine = SparkEngine(self._project.settings)
            self._open.callback(engine.close)
            engine.start()
            self._engine = engine
        return self._engine

    def _recording(self) -> StateStore:
        if self._store is None:
            opened = service.open_state(self._project, create=True)
            self._store = self._open.enter_context(opened)
        return self._store


def _names(given: Columns, what: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in given.split(",")) if isinstance(given, str) else given
    if not names or not all(isinstance(name, str) and name for name in names):
        raise UsageError(f"{what}= names no columns", f"write {what}='id' or {what}=['a', 'b']")
    return tuple(names)
