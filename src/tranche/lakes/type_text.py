"""Types as SQL takes them."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from tranche.script.binding import quoted_name


def type_text(type_: DataType) -> str:
    """A type whose fields may have any names: those in data are nobody's to choose.

    >>> from pyspark.sql.types import IntegerType, StructField
    >>> type_text(ArrayType(StructType([StructField("a b", IntegerType())])))
    'array<struct<`a b`:int>>'
    """
    match type_:
        case StructType():
            inside = (f"{quoted_name(f.name)}:{type_text(f.dataType)}" for f in type_.fields)
            return f"struct<{','.join(inside)}>"
        case ArrayType():
            return f"array<{type_text(type_.elementType)}>"
        case MapType():
            return f"map<{type_text(type_.keyType)},{type_text(type_.valueType)}>"
        case _:
            return type_.simpleString()
