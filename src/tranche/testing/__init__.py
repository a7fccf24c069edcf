"""Doubles for tests: an engine and a store in memory, and jobs that run without a project."""

from tranche.state.memory import MemoryStore
from tranche.testing.engine import MemoryEngine, MemoryTrial
from tranche.testing.jobs import JobResult, TaskResult, run_job

__all__ = ["JobResult", "MemoryEngine", "MemoryStore", "MemoryTrial", "TaskResult", "run_job"]
