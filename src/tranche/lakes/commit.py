"""What a commit says about itself, so that the ledger can be rebuilt from the table."""

from __future__ import annotations

from dataclasses import dataclass

from tranche.model.plan import Step
from tranche.model.run import Attempt

_PREFIX = "tranche."


@dataclass(frozen=True, slots=True)
class Commit:
    """Who writes, and for which key."""

    attempt: Attempt
    fingerprint: str = ""
    partition: str | None = None

    @property
    def publication(self) -> str:
        """One for all attempts at the same keys of a step: Iceberg lets it become visible once."""
        part = f".{self.attempt.part}" if self.attempt.part else ""
        return f"{self.attempt.run}.{self.attempt.position}{part}"

    def properties(self) -> dict[str, str]:
        """What the snapshot's summary gets."""
        about = {
            "run": self.attempt.run,
            "attempt": self.attempt.id,
            "fingerprint": self.fingerprint,
        }
        if self.partition is not None:
            about["partition"] = self.partition
        return {f"{_PREFIX}{name}": value for name, value in about.items()}

    def options(self) -> dict[str, str]:
        """The same for a DataFrame's write that is seen at once.

        It has the publication's id, so that nothing that was staged under it comes after.
        """
        about = {**self.properties(), "wap.id": self.publication}
        return {f"snapshot-property.{name}": value for name, value in about.items()}


def commit_of(step: Step, attempt: Attempt) -> Commit:
    return Commit(attempt, step.script.fingerprint, step.partition)
