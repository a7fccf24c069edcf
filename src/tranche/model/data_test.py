"""Rules on data, checked before a slice is published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tranche.model.asset import ColumnRef
from tranche.model.rows import Rows

Severity: TypeAlias = Literal["error", "warn"]
DataTestStatus: TypeAlias = Literal["passed", "warned", "failed"]


@dataclass(frozen=True, slots=True)
class Unique:
    column: str

    def __str__(self) -> str:
        return f"unique {self.column}"


@dataclass(frozen=True, slots=True)
class NotNull:
    column: str

    def __str__(self) -> str:
        return f"not_null {self.column}"


@dataclass(frozen=True, slots=True)
class AcceptedValues:
    column: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"accepted_values {self.column} = {','.join(self.values)}"


@dataclass(frozen=True, slots=True)
class Relationship:
    column: str
    target: ColumnRef

    def __str__(self) -> str:
        return f"relationships {self.column} -> {self.target}"


@dataclass(frozen=True, slots=True)
class ScriptTest:
    """A script that returns the rows which violate a rule."""

    script: str

    def __str__(self) -> str:
        return self.script


Rule: TypeAlias = Unique | NotNull | AcceptedValues | Relationship | ScriptTest


@dataclass(frozen=True, slots=True)
class DataTest:
    """A rule, what a violation means, and the line that declares it."""

    rule: Rule
    severity: Severity = "error"
    line: int = 0

    def __str__(self) -> str:
        return str(self.rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTestResult:
    """What a data test found in a slice."""

    test: str
    severity: Severity = "error"
    violations: int = 0
    sample: Rows | None = None
    """Some of the violating rows."""

    @property
    def status(self) -> DataTestStatus:
        if not self.violations:
            return "passed"
        return "warned" if self.severity == "warn" else "failed"
