"""A task of a job, in one Spark session: what it returns is kept where its IO says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tranche.errors import ColumnsRejected, MergeRejected, ResultRejected
from tranche.errors import Place as Spot
from tranche.jobs import registry
from tranche.jobs.conversion import converted, frame_kind, returned_kind
from tranche.jobs.merge import Merge
from tranche.jobs.own_io import read_own, write_own
from tranche.lakes.commit import Commit
from tranche.lakes.given import frame_of
from tranche.lakes.outputs.merges import MergePlace, check_merge, new_columns
from tranche.lakes.outputs.parts import (
    columns_of,
    in_parts,
    nothing_part,
    part_text,
    parts_of,
    text_of,
    values_of,
)
from tranche.lakes.outputs.place import DividedPlace, Kept, Place, created
from tranche.lakes.outputs.places import Places, parts_by_key
from tranche.lakes.python import CodeExecution, in_words, mapped_keys, own_key
from tranche.lakes.racing import until_committed
from tranche.lakes.writer import SliceWriter
from tranche.model.asset import AssetUri, JobTask, LakeTable
from tranche.model.code import Loaded
from tranche.model.output import FILES, KEY_COLUMN, Output
from tranche.model.strategy import PARTITION_COLUMN, Nothing, SchemaPolicy
from tranche.ports import Staged, Written, WrittenKey
from tranche.script.binding import quoted_name


class TaskExecution(CodeExecution):
    """A trial that calls the function of a task when it is staged.

    Rows of a table with slices go the way of a script's. Others are written when they are
    published: into the parts of a table that their columns say, or by an IO of the user.
    """

    returned: Any = None
    """What the function returned."""
    rows_kept: DataFrame | None = None
    """The rows of it that are to be kept."""

    @property
    def output(self) -> Output:
        return self.code.output or Output()

    @property
    def places(self) -> Places:
        return Places(self.session, self.settings)

    @property
    def spot(self) -> Spot:
        return Spot(self.step.script.path, self.code.line)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(key for key in self.step.keys if key is not None)

    def stage(self) -> Staged:
        staged = self.staged()
        warnings = (*staged.warnings, *self.unfiltered(), *self.left_out())
        return replace(staged, warnings=warnings, traced=self.traced)

    def staged(self) -> Staged:
        made = self.step.script.annotations.materialize
        if made is None or self.does_nothing:
            return super().stage()
        if self.step.is_range:
            self.check_range()
        for table in self.loaded_tables():
            self.located(self.code.line, partial(self.pinned_rows, table))
        writer: SliceWriter | None = None
        if self.output.kind == "lake":
            self.returned, writer = self.called_beside(made)
        else:
            self.returned = self.call()
        if self.returned is None or self.output.kind == "own":
            return Staged(sources=self.sources)
        if isinstance(self.returned, Merge):
            self.rows_kept = self.frame_given(self.returned.rows)
            return Staged(sources=self.sources)
        if writer is not None:
            return self.stage_slice(writer)
        rows = self.frame_given(self.returned)
        if frame_kind(self.returned) == "spark":
            self.trace(rows)
        self.rows_kept = self.divided(rows)
        return Staged(sources=self.sources)

    def stage_slice(self, writer: SliceWriter) -> Staged:
        rows = self.rows_returned(self.returned)
        if self.step.is_range:
            self.write_side_by_side()
        return self.located(self.code.line, lambda: self.stage_rows(writer, rows))

    @property
    def does_nothing(self) -> bool:
        """Whether it can only return None, and keeps nothing."""
        made = self.step.script.annotations.materialize
        nothing = made is not None and isinstance(made.strategy, Nothing)
        return nothing and self.output.kind != "own"

    def loaded_tables(self) -> list[LakeTable]:
        """Those that are there: a task that has only ever returned None has made none."""
        return [
            table
            for table in super().loaded_tables()
            if self.tables.of(table).columns() is not None
        ]

    def unfiltered(self) -> list[str]:
        """What it reads all of, although only some of it is meant."""
        values = (parameter.value for parameter in self.code.parameters)
        return [
            f"{self.code.function} reads all of {value.asset}: its IO has auto_filter=False"
            for value in values
            if isinstance(value, Loaded)
            and value.output is not None
            and value.output.partition_by
            and not value.output.auto_filter
            and not value.all_partitions
        ]

    def left_out(self) -> list[str]:
        """The columns of a Merge that do not enter the table, which is to be told."""
        made = self.step.script.annotations.materialize
        asked = made is not None and made.on_schema_change == "warn"
        if made is None or not asked or not isinstance(self.returned, Merge):
            return []
        assert self.rows_kept is not None, "nothing was staged"
        place = self.places.merging(made.asset, self.output.kind)
        known = place.columns()
        if known is None:
            return []
        names = new_columns(self.returned, self.rows_kept, known)
        return [f"{place}: new columns {', '.join(names)} are left out"] if names else []

    def publish(self, leave_out: frozenset[str] = frozenset()) -> Written:
        made = self.step.script.annotations.materialize
        if made is None or self.does_nothing:
            return super().publish(leave_out)
        if self.writer is not None:
            return replace(super().publish(leave_out), parts=self.no_parts())
        if self.returned is None:
            nothing = {key: (nothing_part(key),) for key in self.keys or (None,)}
            return Written(keys=self.each(None), parts=nothing)
        if self.output.kind == "own":
            io = registry.io_of(self.step.script, self.settings.root)
            storage = self.settings.storage
            act = partial(
                write_own, io, self.step.script, self.keys, self.returned, storage=storage
            )
            in_words(act, self.settings, debug=self.debug)
            digest = f"attempt {self.work.attempt.id}"
            return Written(keys=self.each(None), digest=digest, parts=self.own_parts())
        return self.located(self.code.line, lambda: self.keep(made.asset))

    def own_parts(self) -> dict[str | None, tuple[str, ...]] | None:
        """The values of partition columns that an IO of the user was given."""
        by = self.output.partition_by
        if not by or frame_kind(self.returned) is None:
            return self.no_parts()
        rows = self.frame_given(self.returned)
        there = [name for name in by if name in rows.columns]
        if not there:
            return self.no_parts()
        return parts_by_key(self.parts_in(rows, there), self.keys)

    def parts_in(self, rows: DataFrame, by: Sequence[str]) -> frozenset[str]:
        names = [
            text_of(F.col(quoted_name(name)), rows.schema[name].dataType).alias(name) for name in by
        ]
        found = self.located(self.code.line, lambda: rows.select(*names).distinct().collect())
        return frozenset(part_text(row.asDict()) for row in found)

    def no_parts(self) -> dict[str | None, tuple[str, ...]] | None:
        """What is to be noted where there are no parts: nothing, unless something was before."""
        noted = self.work.parts.get(str(self.step.script.asset))
        return dict.fromkeys(self.keys or (None,), ()) if noted else None

    # What is written

    def frame_given(self, returned: object) -> DataFrame:
        try:
            kind = returned_kind(returned, self.code.function)
        except ResultRejected as error:
            error.place = self.spot
            raise
        if kind is None:
            raise ResultRejected(
                f"{self.code.function} returned a Merge without rows",
                "give it a frame, as in Merge(df, on=…)",
                place=self.spot,
            )
        return self.located(self.code.line, lambda: self.frame(returned, kind))

    def divided(self, rows: DataFrame) -> DataFrame:
        """Rows that have all columns that divide them; the key comes by itself if there is one."""
        by = self.output.partition_by
        rows = self.with_columns(rows)
        return self.of_own_keys(rows) if KEY_COLUMN in by and self.keys else rows

    def with_columns(self, rows: DataFrame) -> DataFrame:
        """The rows with all columns that divide them."""
        by = self.output.partition_by
        if KEY_COLUMN in by and KEY_COLUMN not in rows.columns and self.keys:
            if len(self.keys) > 1:
                raise ResultRejected(
                    f"{self.code.function} returned rows of {len(self.keys)} keys without the"
                    f" column {KEY_COLUMN}",
                    f"say of which key each row is in a column {KEY_COLUMN}, or take partition"
                    " instead of partitions",
                    place=self.spot,
                )
            rows = rows.withColumn(KEY_COLUMN, F.lit(self.keys[0]))
        missing = [name for name in by if name not in rows.columns]
        if missing:
            raise ColumnsRejected(
                f"{self.code.function} is divided by {', '.join(missing)}, and its rows have no"
                " such column",
                f"the columns are {', '.join(rows.columns)}",
                place=self.spot,
            )
        return rows

    def of_own_keys(self, rows: DataFrame) -> DataFrame:
        """The rows; it breaks if one is of a key that the task was not called for."""
        return rows.withColumn(KEY_COLUMN, own_key(KEY_COLUMN, self.keys))

    def keep(self, asset: AssetUri) -> Written:
        try:
            return self.kept(asset)
        except (ColumnsRejected, MergeRejected) as error:
            error.place = error.place or self.spot
            raise

    def kept(self, asset: AssetUri) -> Written:
        rows, by, kind = self.rows_kept, self.output.partition_by, self.output.kind
        assert rows is not None, "nothing was staged"
        place: Place
        if isinstance(self.returned, Merge):
            place = self.places.merging(asset, kind)
            enter = partial(self.merge, place, self.returned, rows)
        else:
            place = self.places.of(asset, kind)
            enter = partial(self.enter, place, rows, by)
        # Nobody but an earlier attempt of the step can have done it.
        kept = place.published(self.commit) if self.work.attempt.number > 1 else None
        if kept is None:
            # Other keys may be making it, or have changed its columns, and are not to be undone.
            kept = until_committed(
                partial(self.entered, place, enter, by), partial(place.published, self.commit)
            )
        return Written(
            rows=kept.rows,
            snapshot=kept.snapshot,
            digest=None if kept.snapshot else f"attempt {self.work.attempt.id}",
            keys=self.each(kept),
            parts=parts_by_key(kept.parts, self.keys) if by else self.no_parts(),
            columns=tuple((f.name, f.dataType.simpleString()) for f in rows.schema.fields),
        )

    def entered(self, place: Place, enter: Callable[[], None], by: tuple[str, ...]) -> Kept:
        enter()
        return place.made(self.commit, by)

    def enter(self, place: DividedPlace, rows: DataFrame, by: tuple[str, ...]) -> None:
        append = self.output.mode == "append"
        if not by and not append:
            place.replace_all(rows, self.commit)
        elif not created(place, rows, by, self.commit):
            if append:
                place.append(rows, by, self.commit)
            else:
                self.replace_parts(place, rows, by)

    def replace_parts(self, place: DividedPlace, rows: DataFrame, by: tuple[str, ...]) -> None:
        """Rows take the place of what is in their parts, and of what these keys had before.

        What they had is known from the ledger. Most of the time it is nothing; then the rows need
        not be looked at twice.
        """
        before = self.held_alone()
        if not before:
            place.replace_written(rows, by, self.commit)
            return
        kept = rows.persist()
        try:
            place.replace_where(kept, by, self.parts_in(kept, by) | before, self.commit)
        finally:
            kept.unpersist()

    def held_alone(self) -> set[str]:
        """The parts that only these keys were written to, and no other key since."""
        nothing = {nothing_part(key) for key in self.keys or (None,)}
        held = self.work.sole_parts - nothing
        return parts_of({None: held}, (None,), self.output.partition_by)

    def merge(self, place: MergePlace, merge: Merge, rows: DataFrame) -> None:
        by: tuple[str, ...] = self.output.partition_by
        keys: tuple[str, ...] = ()
        policy: SchemaPolicy = "sync"
        if self.output.kind == "lake":
            made = self.step.script.annotations.materialize
            policy = (made.on_schema_change if made else None) or "fail"
            if self.keys:
                by, keys = (PARTITION_COLUMN,), self.keys
                rows = self.sliced(rows)
        elif merge.inserts_all or place.columns() is None:
            # Rows of any key may match; those that are inserted need a place.
            rows = self.with_columns(rows)
        # A table is not made for a Merge that breaks.
        check_merge(merge, rows, place.columns() or rows.schema, str(place))
        # What is merged into nothing is what nothing has matched.
        created(place, rows.limit(0), by, self.commit_apart())
        place.merge(merge, rows, self.commit, keys, policy=policy)

    def sliced(self, rows: DataFrame) -> DataFrame:
        """Rows for a table with slices, each of which says of which it is."""
        if not self.step.is_range and KEY_COLUMN not in rows.columns:
            return rows.withColumn(PARTITION_COLUMN, F.lit(self.keys[0]))
        keyed = self.keyed(rows, self.spot)
        if PARTITION_COLUMN in keyed.columns:
            return keyed
        return keyed.withColumn(PARTITION_COLUMN, F.lit(self.keys[0]))

    def commit_apart(self) -> Commit:
        """A commit of this attempt that stands for nothing it is known by."""
        attempt = replace(self.commit.attempt, id=f"{self.commit.attempt.id}-made", part="made")
        return replace(self.commit, attempt=attempt)

    def each(self, kept: Kept | None) -> dict[str, WrittenKey]:
        """What is known of each key of several."""
        return {key: WrittenKey(None) for key in self.keys} if self.step.is_range else {}

    # What is read

    def load_rows(self, loaded: Loaded) -> object:
        output = loaded.output
        if loaded.maker is not None and self.is_nothing(loaded):
            return None
        if output is None or loaded.maker is None or output.kind == "lake":
            return self.lake_rows(loaded)
        if output.kind == "own":
            return self.own_rows(loaded)
        if isinstance(loaded.asset, JobTask):
            return None
        return self.located(self.code.line, lambda: self.kept_rows(loaded, output))

    def is_nothing(self, loaded: Loaded) -> bool:
        """Whether the task before has returned None for all keys that are read."""
        known = self.work.parts.get(str(loaded.asset), {})
        keys: list[str | None] = list(mapped_keys(self.step, loaded) or ()) or [None]
        return all(known.get(key) == (nothing_part(key),) for key in keys)

    def lake_rows(self, loaded: Loaded) -> object:
        """Rows of a table; None if nothing has made it."""
        if (
            loaded.maker is not None
            and isinstance(loaded.asset, LakeTable)
            and self.tables.of(loaded.asset).columns() is None
        ):
            return None
        return super().load_rows(loaded)

    def own_rows(self, loaded: Loaded) -> object:
        assert loaded.maker is not None
        maker = registry.maker_of(loaded.maker, self.settings.root)
        assert maker is not None, f"{loaded.maker} is not there any more"
        io = registry.io_of(maker, self.settings.root)
        keys = mapped_keys(self.step, loaded) or []
        known = self.work.parts.get(str(loaded.asset), {})
        parts = columns_of([values_of(part) for key in keys for part in known.get(key, ())])
        storage = self.settings.storage
        act = partial(read_own, io, maker, self.step.script, loaded, keys, parts, storage=storage)
        found: Any = in_words(act, self.settings, debug=self.debug)
        if loaded.frame == "spark" and frame_kind(found) not in (None, "spark"):
            return frame_of(self.session, found)
        return found

    def kept_rows(self, loaded: Loaded, output: Output) -> object:
        place = self.places.of(loaded.asset, output.kind)
        columns = place.columns()
        if columns is None:
            return None
        rows = place.rows()
        keys = mapped_keys(self.step, loaded)
        if output.partition_by and keys is not None and not loaded.all_partitions:
            known = self.work.parts.get(str(loaded.asset), {})
            if output.auto_filter:
                rows = rows.where(in_parts(parts_of(known, keys, output.partition_by), columns))
        if loaded.frame != "spark":
            return converted(rows, loaded.frame)
        # Tables have names in plans, and people use them; files have none.
        return self.known.given(rows, loaded.asset) if output.kind in FILES else rows
