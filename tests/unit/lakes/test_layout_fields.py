"""Layouts without a table: what is there, what is wanted, and what must change."""

from __future__ import annotations

import pytest
from pyspark.sql import Row
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from tranche.errors import ColumnsRejected, Place
from tranche.lakes.layout_fields import (
    SLICE,
    Change,
    Creation,
    Field,
    creation,
    difference,
    fitted_layout,
    free_name,
    is_split,
    parsed_field,
    read_fields,
    takes,
    with_slice,
)
from tranche.model.layout import Transform, TransformName, canonical, finest

ID8, ID16 = Transform("bucket", "id", 8), Transform("bucket", "id", 16)
DAY, MONTH, NAME = Transform("day", "ts"), Transform("month", "ts"), Transform("identity", "name")


def described(*rows: tuple[str, str]) -> list[Row]:
    return [Row(col_name=name, data_type=type_, comment=None) for name, type_ in rows]


def fields(*transforms: Transform) -> tuple[Field, ...]:
    return tuple(Field(str(transform), transform) for transform in transforms)


class TestWhatIsThere:
    def test_nothing(self) -> None:
        assert read_fields(described(("id", "bigint"), ("# Partitioning", "string"))) == ()

    def test_columns_only(self) -> None:
        rows = described(
            ("id", "bigint"),
            ("# Partition Information", ""),
            ("# col_name", "data_type"),
            ("_tranche_partition", "string"),
            ("`a``b`", "string"),
        )
        assert [f.transform for f in read_fields(rows)] == [SLICE, Transform("identity", "a`b")]

    def test_transforms(self) -> None:
        rows = described(
            ("# Partitioning", "string"),
            ("", ""),
            ("# Partitioning", ""),
            ("Part 0", "_tranche_partition"),
            ("Part 1", "bucket(8, id)"),
            ("Part 2", "truncate(3, name)"),
        )
        assert [f.transform for f in read_fields(rows)] == [SLICE, ID8, None]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("years(ts)", Transform("year", "ts")),
            ("months(ts)", MONTH),
            ("days(`my (odd), day`)", Transform("day", "my (odd), day")),
            ("hours(ts)", Transform("hour", "ts")),
            ("bucket(16, id)", ID16),
            ("bucket(2, `a``b`)", Transform("bucket", "a`b", 2)),
            ("`1st`", Transform("identity", "1st")),
            ("name", NAME),
            ("point.x", None),
            ("bucket(2, point.x)", None),
            ("truncate(10, name)", None),
            ("zorder(a, b)", None),
        ],
    )
    def test_one_field(self, text: str, expected: Transform | None) -> None:
        assert parsed_field(text) == Field(text, expected)

    @pytest.mark.parametrize(
        ("found", "expected"),
        [((), False), ((SLICE,), False), ((SLICE, NAME), True), ((NAME,), True)],
    )
    def test_whether_slices_are_split(self, found: tuple[Transform, ...], expected: bool) -> None:
        assert is_split(fields(*found)) is expected


class TestWhatIsWanted:
    COLUMNS = StructType(
        [
            StructField("Id", LongType()),
            StructField("ts", TimestampType()),
            StructField("_tranche_partition", StringType()),
        ]
    )

    def test_columns_are_spelled_as_the_table_does(self) -> None:
        asked = (Transform("bucket", "ID", 8), Transform("day", "TS"))
        assert fitted_layout(asked, self.COLUMNS) == (Transform("bucket", "Id", 8), DAY)

    def test_a_column_that_is_not_there(self) -> None:
        with pytest.raises(ColumnsRejected) as error:
            fitted_layout((NAME,), self.COLUMNS, Place("a.sql", 4))
        assert str(error.value) == (
            "a.sql:4: the layout names name, and the table has no such column;"
            " the columns are Id, ts"
        )

    @pytest.mark.parametrize(
        ("name", "good", "bad"),
        [
            ("identity", [StringType(), DoubleType(), BooleanType()], [ArrayType(LongType()), StructType(), VariantType()]),
            ("bucket", [LongType(), ShortType(), DecimalType(9, 2), StringType(), DateType(), TimestampNTZType()], [DoubleType(), BooleanType(), StructType()]),
            ("year", [DateType(), TimestampType()], [StringType(), IntegerType()]),
            ("day", [DateType(), TimestampNTZType()], [StringType()]),
            ("hour", [TimestampType(), TimestampNTZType()], [DateType()]),
        ],
    )  # fmt: skip
    def test_types(self, name: TransformName, good: list[DataType], bad: list[DataType]) -> None:
        assert all(takes(name, type_) for type_ in good)
        assert not any(takes(name, type_) for type_ in bad)

    def test_the_finest_time_of_a_column_says_it_all(self) -> None:
        other = Transform("year", "other")
        assert finest((Transform("year", "ts"), DAY, MONTH, other, ID8)) == (DAY, other, ID8)
        assert finest((Transform("identity", "ts"), DAY)) == (Transform("identity", "ts"), DAY)

    def test_the_order_does_not_matter(self) -> None:
        assert canonical((NAME, ID8)) == canonical((ID8, NAME)) == "bucket(8, id), name"

    def test_the_slice_always_stays(self) -> None:
        assert with_slice((), sliced=True) == (SLICE,)
        assert with_slice((NAME,), sliced=False) == (NAME,)


class TestChange:
    @pytest.mark.parametrize(
        ("current", "wanted", "drops", "adds"),
        [
            ((SLICE, ID8), (SLICE, ID8), (), ()),
            ((SLICE, ID8, NAME), (SLICE, NAME, ID8), (), ()),
            ((SLICE, ID8), (SLICE, ID16), (ID8,), (ID16,)),
            ((), (DAY,), (), (DAY,)),
            ((SLICE, DAY), (SLICE,), (DAY,), ()),
            ((DAY,), (SLICE, DAY), (), (SLICE,)),
        ],
    )
    def test_what_must_change(
        self,
        current: tuple[Transform, ...],
        wanted: tuple[Transform, ...],
        drops: tuple[Transform, ...],
        adds: tuple[Transform, ...],
    ) -> None:
        assert difference(fields(*current), wanted) == Change(fields(*drops), adds)

    def test_what_nobody_has_a_word_for_goes(self) -> None:
        odd = Field("truncate(3, name)", None)
        assert difference((odd,), (NAME,)) == Change((odd,), (NAME,))

    @pytest.mark.parametrize(
        ("transform", "taken", "expected"),
        [
            (ID8, set(), "id_bucket_8"),
            (ID8, {"id_bucket"}, "id_bucket_8"),
            (ID8, {"id_bucket_8"}, "id_bucket_8_2"),
            (DAY, {"ts_day", "ts_day_2"}, "ts_day_3"),
            (NAME, {"name"}, "name_2"),
        ],
    )
    def test_names(self, transform: Transform, taken: set[str], expected: str) -> None:
        assert free_name(transform, taken) == expected


class TestCreation:
    COLUMNS = ("id", "ts", "name")

    @pytest.mark.parametrize(
        ("wanted", "later"),
        [
            ((SLICE, ID8, DAY, NAME), ()),
            ((ID8, ID16), (ID16,)),
            ((Transform("bucket", "a`b", 2), DAY), (Transform("bucket", "a`b", 2),)),
            ((DAY, Transform("identity", "größe")), (Transform("identity", "größe"),)),
        ],
    )
    def test_a_new_table(self, wanted: tuple[Transform, ...], later: tuple[Transform, ...]) -> None:
        stated = tuple(transform for transform in wanted if transform not in later)
        assert creation(wanted, self.COLUMNS) == Creation(stated, later)

    def test_a_column_that_has_the_name_of_a_field(self) -> None:
        made = creation((DAY, Transform("identity", "ts_day")), (*self.COLUMNS, "ts_day"))
        assert made == Creation((Transform("identity", "ts_day"),), (DAY,))

    @pytest.mark.parametrize(
        ("wanted", "current", "used", "later"),
        [
            # It is there under the name that it gets again.
            (ID8, (ID8,), {"id_bucket"}, False),
            # The name is that of a field which it once had.
            (ID16, (ID16,), {"id_bucket", "id_bucket_16"}, True),
            (ID16, (ID8,), {"id_bucket"}, True),
            (ID16, (), {"id_bucket"}, True),
            # Nobody has that name.
            (ID16, (ID16,), {"id_bucket_16"}, False),
            (DAY, (DAY,), {"ts_day", "ts_month"}, False),
            (DAY, (DAY,), {"ts_day", "ts_day_2"}, True),
            (DAY, (), {"ts_day"}, True),
            (NAME, (NAME,), {"name", "name_bucket"}, False),
        ],
    )
    def test_a_table_that_is_made_anew(
        self, wanted: Transform, current: tuple[Transform, ...], used: set[str], later: bool
    ) -> None:
        made = creation((wanted,), self.COLUMNS, fields(*current), used)
        assert made == (Creation((), (wanted,)) if later else Creation((wanted,), ()))
