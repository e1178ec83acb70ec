"""Training: a plan, its ranks and their memory."""

import array
import ctypes
import itertools
import json
import math
import os
import threading
import time
from ctypes import byref, c_size_t, c_void_p
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Union

from . import library
from .dlpack import Argument
from .errors import Error
from .model import Model, PathLike
from .plan import Plan
from .progress import Line, Waiting
from .tensor import Tensor


class Result:
    """The result of an entry point: numbers, and by name its outputs (`result["logits"]`), until the entry point runs again."""

    def __init__(self, trainer: "Trainer", entry: str, run: int, step: library.Step):
        self._trainer, self._entry, self._run = trainer, entry, run
        #: Completed steps of the run.
        self.step: int = step.step
        #: Mean over the rows of all ranks; NaN where the entry point has none, as are the next two.
        self.loss: float = step.loss
        #: Before clipping.
        self.grad_norm: float = step.grad_norm
        self.lr: float = step.lr
        self.loss_scale: float = step.loss_scale
        #: False: the update was left out, with a dynamic loss scale.
        self.applied: bool = bool(step.applied)

    def __getitem__(self, output: str) -> Tensor:
        """A copy: rows of micro-batches and ranks of this process in the order of the inputs."""
        trainer = self._trainer
        if trainer._last.get(self._entry) != self._run:
            raise Error(1, f"entry point '{self._entry}' has run again: its outputs are those of the last run", ["read outputs before the next run"])
        return trainer._tensor("sluice_session_get_output", self._entry.encode(), library.encode(output))

    def __float__(self) -> float:
        return self.loss

    def __repr__(self) -> str:
        return f"sluice.Result(step={self.step}, loss={self.loss:.6g}, grad_norm={self.grad_norm:.6g}, lr={self.lr:.6g})"


class Trainer:
    """A run: the ranks of a plan, with parameters and optimizer states. A context manager; one thread uses it at a time.

    plan: a Plan, or the path of one. All others are options of `sluice-train` with the same meaning.
    init: weights (safetensors, a folder, an archive .pt2 or the model that was loaded from it). checkpoint: the folder, with `every` steps, of which `keep` remain (0: all). resume: "auto" continues
      from the newest checkpoint, if there is one; "none"; or a path. seed: of initial values and dropout. threads: of a rank. entries: those whose memory is
      allocated, all by default. steps: of the complete run, for a schedule without `total_steps`.
    launch: "auto" (a process of torchrun, mpirun or srun is one rank), "local" (ranks are threads of this process), "mpi" or "socket".
    progress: a line about each step, on standard error; by default on a terminal and in a notebook.

    Ctrl-C within a step raises KeyboardInterrupt after the step; leaving the `with` block then writes a checkpoint, if there is a folder for it."""

    def __init__(self, plan: Union[Plan, PathLike], *, init: Union[None, Model, PathLike] = None, checkpoint: Optional[PathLike] = None, every: int = 500, keep: int = 0,
                 resume: PathLike = "auto", seed: int = 0, threads: int = 0, entries: Sequence[str] = (), require_proof: bool = False, steps: int = 0,
                 launch: str = "auto", join_seconds: Optional[float] = None, watchdog_seconds: Optional[float] = None, progress: Optional[bool] = None):
        self._handle: Optional[int] = None
        self._line = Line(progress)
        options: Dict[str, Any] = {"every": every, "keep": keep, "seed": seed, "threads": threads, "entries": list(entries), "require_proof": require_proof,
                                   "steps": steps, "launch": launch}
        for name, value in (("init", init.source if isinstance(init, Model) else init), ("checkpoint", checkpoint)):
            if value is not None:
                options[name] = os.fspath(value)
        if checkpoint is not None or resume != "auto":
            options["resume"] = os.fspath(resume)
        for name, seconds in (("join_seconds", join_seconds), ("watchdog_seconds", watchdog_seconds)):
            if seconds is not None:
                options[name] = seconds
        opened, handle = plan if isinstance(plan, Plan) else Plan(plan), c_void_p()
        self._library = library.runtime()
        with Waiting("starting the ranks"):
            library.RUNTIME.check(self._library.sluice_session_open(opened._handle, library.encode_json(options), byref(handle)))
        self._handle = handle.value
        self._has_checkpoints = checkpoint is not None
        #: What the library states about the run: "world", "ranks" (those of this process), "entries" with inputs and outputs, "parameters", "states", "notes".
        self.description: Dict[str, Any] = self._describe()
        self._names = {name: name.encode() for entry in self.description["entries"]
                       for name in (entry["name"], *(port["name"] for port in entry["inputs"]))}
        self._training = {entry["name"] for entry in self.description["entries"] if entry.get("trains", True)}
        #: The result of the last run.
        self.last: Optional[Result] = None
        self._last: Dict[str, int] = {}
        self._runs = itertools.count(1)
        # Threads that are within a run: views are refused.
        self._running: Set[int] = set()
        self._begin, self._done, self._steps = time.monotonic(), 0, steps

    def __enter__(self) -> "Trainer":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            if kind is not None and issubclass(kind, KeyboardInterrupt) and self._has_checkpoints and self._handle:
                self.checkpoint()
        finally:
            self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    def close(self) -> None:
        """Ends the ranks, after a checkpoint that is being written. Views remain valid. A second call has no effect."""
        handle, self._handle = self._handle, None
        if handle:
            self._library.sluice_session_free(handle)
            self._line.end()

    def _open(self) -> int:
        if not self._handle:
            raise Error(1, "the trainer is closed", ["views remain valid; open another trainer, from a checkpoint or with init="])
        return self._handle

    def _call(self, function: str, *arguments: Any) -> None:
        status = getattr(self._library, function)(self._open(), *arguments)
        if status:
            library.RUNTIME.check(status)

    def _describe(self) -> Dict[str, Any]:
        return dict(json.loads(library.RUNTIME.text_of("sluice_session_describe", self._open())))

    def _tensor(self, function: str, *arguments: Any, check: Any = None) -> Tensor:
        address = c_void_p()
        self._call(function, *arguments, byref(address))
        return Tensor(address.value or 0, check)

    @property
    def step_count(self) -> int:
        """Completed steps of the run, those before a resume included."""
        return int(self._describe()["step"])

    @property
    def parameters(self) -> List[str]:
        """Names."""
        return [each["name"] for each in self.description["parameters"]]

    @property
    def states(self) -> List[str]:
        """Names of optimizer states and of states of the model."""
        return [each["name"] for each in self.description["states"]]

    def step(self, inputs: Optional[Mapping[str, Any]] = None, /, *, lr: Optional[float] = None, entry: str = "train_step", **named: Any) -> float:
        """A step of training with these inputs, by name: tensors in CPU memory with `__dlpack__` or the buffer protocol. The first dim is micro-batches times
        data-parallel ranks of this process times rows of a micro-batch. `inputs` is a mapping for names that are no keywords.

        lr: the learning rate; without it, that of the plan's schedule. Returns the loss; `last` has the other results. A loss that is not finite raises Error
        with code 5, and the weights are those before the step."""
        return self.run(entry, inputs, lr=lr, **named).loss

    def run(self, entry: str, inputs: Optional[Mapping[str, Any]] = None, /, *, lr: Optional[float] = None, **named: Any) -> Result:
        """Runs an entry point, such as "eval_step". Outputs are in the result."""
        handle = self._open()
        if inputs:
            named = {**inputs, **named}
        where = self._names.get(entry) or library.encode(entry)
        for name, value in named.items():
            with Argument(name, value) as argument:
                status = self._library.sluice_session_set_input(handle, where, self._names.get(name) or library.encode(name), argument.tensor)
            if status:
                library.RUNTIME.check(status)
        step, thread = library.Step(), threading.get_ident()
        self._running.add(thread)
        try:
            status = self._library.sluice_session_run(handle, where, math.nan if lr is None else lr, step)
        finally:
            self._running.discard(thread)
        if status:
            library.RUNTIME.check(status)
        number = self._last[entry] = next(self._runs)
        result = self.last = Result(self, entry, number, step)
        if self._line.enabled and entry in self._training:
            self._show(result)
        return result

    def _show(self, result: Result) -> None:
        self._done += 1
        each = (time.monotonic() - self._begin) / self._done
        total = f"/{self._steps}" if self._steps else ""
        self._line.show(f"step {result.step}{total}  loss {result.loss:.4f}  {1000 * each:.1f} ms")

    def parameter(self, name: str) -> Tensor:
        """A copy of a parameter, unsharded. Where ranks are processes, all call it, and all get it."""
        return self._tensor("sluice_session_read", library.encode(name))

    def state(self, name: str) -> Tensor:
        """A copy of an optimizer state or a state of the model, unsharded."""
        return self._tensor("sluice_session_read", library.encode(name))

    def set(self, name: str, value: Any) -> None:
        """Replaces a parameter or state; shape and type are those of `description`."""
        with Argument(name, value) as argument:
            self._call("sluice_session_write", library.encode(name), argument.tensor)

    def shard(self, name: str, rank: int = 0) -> Tensor:
        """A view of the shard of a rank of this process, without padding: current after each step, and writable between steps. Raises BufferError during a step."""
        self._refuse_during_step()
        return self._tensor("sluice_session_view", library.encode(name), int(rank), check=self._refuse_during_step)

    def _refuse_during_step(self) -> None:
        if self._running:
            raise BufferError("a step is running: its memory can be viewed before and after it")

    def load(self, path: PathLike) -> None:
        """Reads weights as `init` does."""
        with Waiting("loading weights"):
            self._call("sluice_session_load", library.encode(os.fspath(path)))

    def save(self, folder: PathLike, dtype: Optional[str] = None) -> None:
        """Writes `model.safetensors` and `config.json`. dtype: "f32" or "bf16"."""
        options = None if dtype is None else library.encode_json({"dtype": dtype})
        with Waiting("saving weights"):
            self._call("sluice_session_save", library.encode(os.fspath(folder)), options)

    def checkpoint(self) -> None:
        """Writes a checkpoint now."""
        with Waiting("writing a checkpoint"):
            self._call("sluice_session_checkpoint")

    def generate(self, prompt: Iterable[int], count: int, *, temperature: Optional[float] = None, top_k: Optional[int] = None, seed: Optional[int] = None,
                 stop: Sequence[int] = ()) -> List[int]:
        """Up to `count` tokens that continue the prompt's, by the entry point `logits`. `stop`: tokens that end the text."""
        try:
            tokens = array.array("q", iter(prompt))  # Bytes are numbers, not the memory of an array.
        except (TypeError, OverflowError):
            raise Error(1, "prompt, expected integers", ["a tokenizer, such as that of transformers, gives the tokens of a text"]) from None
        if count < 0:
            raise Error(1, f"count, expected at least 0 but got {count}")
        options: Dict[str, Any] = {"stop": list(stop)} if stop else {}
        options.update({name: value for name, value in (("temperature", temperature), ("top_k", top_k), ("seed", seed)) if value is not None})
        space, written = (ctypes.c_int64 * max(count, 1))(), c_size_t()
        given = (ctypes.c_int64 * max(len(tokens), 1))(*tokens)
        with Waiting("generating"):
            self._call("sluice_session_generate", given, len(tokens), count, library.encode_json(options), space, byref(written))
        return list(space[:written.value])
