"""Models: modules of the `model` dialect, read from a file or a config."""

import ctypes
import json
import os
import tempfile
import threading
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Union

from . import library
from .errors import Error
from .progress import interruptible

PathLike = Union[str, "os.PathLike[str]"]


class Model:
    """A model, as `load` returns it. Threads wait for each other."""

    def __init__(self, handle: int, source: str):
        self._handle, self._lock = handle, threading.Lock()
        self._free = library.compiler().sluice_model_free
        #: The path or name that it was read from.
        self.source = source

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle:
            self._handle = 0
            self._free(handle)

    @property
    def text(self) -> str:
        """The module as text, which `sluice-compile` reads."""
        with self._lock:
            return library.COMPILER.text_of("sluice_model_text", self._handle)

    @property
    def report(self) -> Dict[str, Any]:
        """The results of the import of an archive: blocks, parameters, composite ops, as `sluice-import export --json` prints them."""
        with self._lock:
            return dict(json.loads(library.COMPILER.text_of("sluice_model_report", self._handle)))

    @property
    def warnings(self) -> List[str]:
        return list(self.report.get("warnings", ()))

    def save(self, path: PathLike) -> None:
        """Writes the text."""
        Path(path).write_text(self.text)

    def __repr__(self) -> str:
        return f"sluice.Model({self.source!r})"


def load(model: Union[PathLike, Mapping[str, Any]], kind: str = "auto", **options: Any) -> Model:
    """Reads a model.

    model: the path of an archive of torch.export (.pt2), a `config.json` of Hugging Face, a text of the model dialect (.mlir) or StableHLO; a config as a dict;
      or with kind="zoo" the name of a small model.
    options: those of `sluice-import` with underscores, such as batch=8, sequence=1024, loss="loss", initialize=True, set={"s0": 16},
      inputs={"x": "tokens:50257"}.
    Raises Error. Ctrl-C ends the wait."""
    if isinstance(model, Mapping):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "config.json"
            path.write_bytes(library.encode_json(dict(model)))
            loaded = load(path, "hf", **options)
        loaded.source = str(model.get("model_type", "config"))
        return loaded
    name = os.fspath(model)
    raw, settings, what = library.encode(name), library.encode_json(options), library.encode(kind)

    def read() -> Model:
        handle = ctypes.c_void_p()
        library.COMPILER.check(library.compiler().sluice_model_import(what, raw, settings, ctypes.byref(handle)))
        return Model(handle.value or 0, name)

    return interruptible(f"reading {os.path.basename(name)}", read)


def as_model(model: Union[Model, PathLike, Mapping[str, Any]]) -> Model:
    return model if isinstance(model, Model) else load(model)


def recipe_text(recipe: Union[None, Mapping[str, Any], PathLike]) -> Optional[bytes]:
    """A recipe as the compiler reads it: JSON of a dict, the content of a file, or TOML."""
    if recipe is None:
        return None
    if isinstance(recipe, Mapping):
        return library.encode_json(dict(recipe))
    text = os.fspath(recipe)
    is_path = not isinstance(recipe, str) or (text.endswith(".toml") and "\n" not in text)
    if not is_path:
        return library.encode(text)
    try:
        return Path(text).read_bytes()
    except OSError as problem:
        raise Error(1, f"cannot read '{text}': {problem.strerror}") from None
