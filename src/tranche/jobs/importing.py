"""Scripts as modules: each is imported by its path, under a name that nobody else uses.

While a script's body runs, its own folder, `pipelines` and the project can be imported from, and so
can they by `import` statements inside its functions. The modules found there belong to the scripts
of that folder alone: they are kept apart from `sys.modules`, so that two projects, or two folders
of one, may each have a `helpers.py` of their own. Modules of that kind are also what Spark sends to
its workers whole, since no worker could import them by name.
"""

from __future__ import annotations

import builtins
import hashlib
import importlib
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from tranche.errors import CodeFailed, Place, SourceMissing, TrancheError
from tranche.jobs.calling import failed
from tranche.model.code import Code

PIPELINES = "pipelines"
_INSTALLED = ("site-packages", "dist-packages")
_LOCK = threading.RLock()


@dataclass(slots=True)
class _Folder:
    """The modules that the scripts of one folder have imported from their project."""

    modules: dict[str, ModuleType] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    """The hash of the text of each file that was imported, by path."""
    version: int = 0
    """How often one of them had changed, and all were let go."""


_FOLDERS: dict[tuple[str, str], _Folder] = {}
_SCRIPTS: dict[str, tuple[str, int, ModuleType]] = {}
"""The scripts that were imported, by path, each with the hash of its text and the version of the
modules that it uses."""


def imported(root: str, path: str) -> ModuleType:
    """The module of a script, imported anew if its text, or that of a module beside it, changed.

    `root` is the project, and `path` the script's within it.
    """
    file = Path(root, path).resolve()
    with _LOCK:
        folder = _folder(Path(root).resolve(), file.parent)
        try:
            text = file.read_bytes()
        except OSError as error:
            raise SourceMissing(f"{path} cannot be read: {error.strerror}", "put it back") from None
        if any(_hash_of(each) != known for each, known in folder.texts.items()):
            folder.modules.clear()
            folder.texts.clear()
            folder.version += 1
        now = _hash(text), folder.version
        known = _SCRIPTS.get(str(file))
        if known is not None and known[:2] == now:
            return known[2]
        module = _executed(Path(root).resolve(), file, path, text)
        _SCRIPTS[str(file)] = *now, module
        return module


def function_of(module: ModuleType, code: Code, path: str) -> Callable[..., Any]:
    """The function that a step calls."""
    found: Any = module
    for name in code.function.split("."):
        found = getattr(found, name, None)
    if not callable(found):
        raise CodeFailed(
            f"{code.function} is no function once the file was imported",
            "define it with def, and let nothing take its name",
            place=Place(path, code.line),
        )
    function: Callable[..., Any] = found
    return function


def _executed(root: Path, file: Path, path: str, text: bytes) -> ModuleType:
    name = f"_tranche_{file.stem}_{_hash(str(file).encode())[:12]}"
    module = ModuleType(name)
    module.__file__ = str(file)
    own = _Imports(root, file.parent)
    module.__dict__["__builtins__"] = {**vars(builtins), "__import__": own.import_}
    before = sys.modules.get(name)
    # Classes look their module up by its name while they are made.
    sys.modules[name] = module
    try:
        with own.importable():
            exec(compile(text, str(file), "exec", dont_inherit=True), module.__dict__)
    except (KeyboardInterrupt, GeneratorExit):
        _put_back(name, before)
        raise
    except BaseException as error:
        _put_back(name, before)
        place = Place(path, _line(error, str(file)))
        if isinstance(error, TrancheError):
            error.place = error.place or place
            raise
        raise failed(error, place, "importing the file") from error
    return module


def _put_back(name: str, before: ModuleType | None) -> None:
    if before is None:
        sys.modules.pop(name, None)
    else:
        sys.modules[name] = before


@dataclass(frozen=True, slots=True)
class _Imports:
    """How a script imports: also from its own folder and its project."""

    root: Path
    folder: Path

    def import_(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """What `import` statements of the script call, whenever they run."""
        top = name.partition(".")[0]
        if top in sys.modules and top not in _folder(self.root, self.folder).modules:
            return builtins.__import__(name, *args, **kwargs)
        with self.importable():
            return builtins.__import__(name, *args, **kwargs)

    @contextmanager
    def importable(self) -> Iterator[None]:
        with _LOCK:
            known = _folder(self.root, self.folder)
            paths = [str(self.folder), str(self.root / PIPELINES), str(self.root)]
            added = [path for path in dict.fromkeys(paths) if path not in sys.path]
            hidden = {name: sys.modules[name] for name in known.modules if name in sys.modules}
            before = set(sys.modules) - hidden.keys()
            # Behind all else: a script called json.py must not stand in for what libraries import.
            sys.path += added
            sys.modules.update(known.modules)
            if added:
                # A file that was written a moment ago is there.
                importlib.invalidate_caches()
            try:
                yield
            finally:
                for path in added:
                    if path in sys.path:
                        sys.path.remove(path)
                for name in list(sys.modules):
                    if name in before:
                        continue
                    module = sys.modules[name]
                    if name in known.modules or self.is_own(module):
                        del sys.modules[name]
                        known.modules[name] = module
                        self.note(known, module)
                sys.modules.update(hidden)

    def is_own(self, module: ModuleType) -> bool:
        """Whether a module is a file of the project, and no script and nothing installed in it."""
        if module.__name__.startswith("_tranche_"):
            return False
        place = getattr(module, "__file__", None)
        if place is None:
            # A folder without __init__ is a package as well.
            places = list(getattr(module, "__path__", ()))
            place = places[0] if places else None
        if place is None or not Path(place).is_relative_to(self.root):
            return False
        if any(part in Path(place).parts for part in _INSTALLED):
            return False
        standard = sysconfig.get_path("stdlib")
        return not Path(place).is_relative_to(standard)

    def note(self, known: _Folder, module: ModuleType) -> None:
        place = getattr(module, "__file__", None)
        if place is not None and place not in known.texts:
            known.texts[place] = _hash_of(place)


def _folder(root: Path, folder: Path) -> _Folder:
    return _FOLDERS.setdefault((str(root), str(folder)), _Folder())


def _hash_of(file: str) -> str:
    try:
        return _hash(Path(file).read_bytes())
    except OSError:
        return ""


def _hash(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _line(error: BaseException, file: str) -> int:
    """The line of the script at which its import ended."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno or 1
    found, traceback = 1, error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == file:
            found = traceback.tb_lineno
        traceback = traceback.tb_next
    return found
