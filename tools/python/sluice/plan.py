"""Plans: compiled models."""

import ctypes
import html
import json
import os
from ctypes import c_size_t, c_void_p
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import library
from .errors import Error
from .model import Model, PathLike, as_model, recipe_text
from .progress import interruptible

Recipe = Union[None, Mapping[str, Any], PathLike]


class Plan:
    """A plan, from its file; `compile` makes one. All threads may use it.

    The reports are those of `sluice-plan REPORT --json`, with the same names."""

    def __init__(self, path: PathLike):
        handle = c_void_p()
        library.RUNTIME.check(library.runtime().sluice_plan_open(library.encode(os.fspath(path)), ctypes.byref(handle)))
        self._take(handle)

    def _take(self, handle: c_void_p) -> None:
        self._handle = handle.value
        self._free = library.runtime().sluice_plan_free
        self._model: Optional[Model] = None
        self._recipe: Optional[bytes] = None
        self._machine: Optional[bytes] = None
        #: What `compile` has reported: warnings, and decisions of the search. Empty for a plan from a file.
        self.report: Dict[str, Any] = {}

    @classmethod
    def load(cls, path: PathLike) -> "Plan":
        return cls(path)

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "plan") -> "Plan":
        """`name` is that of messages."""
        handle, plan = c_void_p(), cls.__new__(cls)
        library.RUNTIME.check(library.runtime().sluice_plan_from_bytes(data, len(data), library.encode(name), ctypes.byref(handle)))
        plan._take(handle)
        return plan

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle:
            self._handle = None
            self._free(handle)

    @property
    def bytes(self) -> bytes:
        """The content of the file."""
        data, size = c_void_p(), c_size_t()
        library.runtime().sluice_plan_bytes(self._handle, ctypes.byref(data), ctypes.byref(size))
        return ctypes.string_at(data.value, size.value) if data.value else b""

    def save(self, path: PathLike) -> None:
        Path(path).write_bytes(self.bytes)

    def _report(self, name: str) -> str:
        return library.RUNTIME.text_of("sluice_plan_report", self._handle, name.encode())

    def check(self) -> Dict[str, Any]:
        """The verdict of each property. A violated one raises Error with code 4."""
        return dict(json.loads(self._report("check")))

    def describe(self) -> Dict[str, Any]:
        """Mesh, units, parameters, entry points, collectives, arenas."""
        return dict(json.loads(self._report("describe")))

    def memory(self, account: Optional[str] = None) -> Dict[str, Any]:
        """The bytes of a rank. With account="fsdp1" or "fsdp2", those of PyTorch for the same program."""
        return dict(json.loads(self._report("memory" if account is None else f"account:{account}")))

    def schedule(self) -> Dict[str, Any]:
        return dict(json.loads(self._report("schedule")))

    def explain(self) -> Dict[str, Any]:
        """The buffers at the peak, and the choices of the compiler."""
        return dict(json.loads(self._report("explain")))

    def simulate(self, machine: Optional[PathLike] = None, entry: Optional[str] = None) -> Dict[str, Any]:
        """The predicted time of a step. machine: the path of a machine file; that of `compile` without it."""
        data, where = self.bytes, self._machine if machine is None else library.encode(os.fspath(machine))
        if where is None:
            raise Error(2, "a prediction needs a machine file", ["pass its path as machine= to simulate or to sluice.compile"])
        return dict(json.loads(library.COMPILER.text_of("sluice_simulate", data, len(data), where, library.encode(entry))))

    def what_if(self, settings: Optional[Mapping[str, Sequence[Any]]] = None, *, pareto: bool = False, fit: Optional[str] = None,
                machine: Optional[PathLike] = None) -> Any:
        """Compiles variants of the recipe, and compares memory and predicted time: each combination of the settings' values, for example
        `{"gradient.microbatches": [1, 2, 4]}`; the best by memory and time (pareto); or the largest `fit`, "batch" or "sequence". Only of a plan of `compile`."""
        if self._model is None:
            raise Error(1, "a plan from a file has no model, which its variants are compiled from", ["use the plan that sluice.compile returns"])
        options: Dict[str, Any] = {}
        if settings:
            options["what_if"] = {key: list(values) for key, values in settings.items()}
        if pareto:
            options["pareto"] = True
        if fit is not None:
            options["fit"] = fit
        where = self._machine if machine is None else library.encode(os.fspath(machine))
        if where is not None:
            options["machine"] = os.fsdecode(where)
        model, raw = self._model, library.encode_json(options)

        def compare() -> Any:
            with model._lock:
                return json.loads(library.COMPILER.text_of("sluice_what_if", model._handle, self._recipe, raw))

        return interruptible("compiling variants", compare)

    @property
    def warnings(self) -> List[str]:
        return list(self.report.get("warnings", ()))

    def memory_page(self) -> str:
        """The page of `sluice-plan memory --html`: the memory of a rank over a step."""
        return self._report("memory.html")

    def _repr_html_(self) -> str:
        # A document within the notebook's: neither has the other's styles.
        return f'<iframe srcdoc="{html.escape(self.memory_page())}" style="width:100%;height:640px;border:0"></iframe>'

    def __repr__(self) -> str:
        return f"sluice.Plan({len(self.bytes)} bytes)"


def compile(model: Union[Model, PathLike, Mapping[str, Any]], recipe: Recipe = None, machine: Optional[PathLike] = None) -> Plan:
    """Compiles a model, or what `load` reads.

    recipe: a dict, nested or with dotted keys; TOML text; or the path of a `.toml` file. Without one, the defaults.
    machine: the path of a machine file, by which the compiler predicts times where the recipe has a memory budget.
    Raises Error. Ctrl-C ends the wait (`interruptible`)."""
    source = as_model(model)
    text = recipe_text(recipe)
    where = None if machine is None else library.encode(os.fspath(machine))

    def run() -> Plan:
        data, size, report = c_void_p(), c_size_t(), c_void_p()
        compiler = library.compiler()
        with source._lock:
            library.COMPILER.check(compiler.sluice_compile(source._handle, text, where, ctypes.byref(data), ctypes.byref(size), ctypes.byref(report)))
        try:
            plan = Plan.from_bytes(ctypes.string_at(data.value or 0, size.value), source.source)
        finally:
            compiler.sluice_compiler_bytes_free(data)
            reported = library.COMPILER.take_text(report)
        plan._model, plan._recipe, plan._machine, plan.report = source, text, where, json.loads(reported or "{}")
        return plan

    return interruptible(f"compiling {os.path.basename(source.source)}", run)
