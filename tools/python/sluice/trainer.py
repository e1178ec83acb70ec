"""Training: a plan, its ranks and their memory."""

import array
import atexit
import ctypes
import functools
import itertools
import json
import math
import os
import sys
import threading
import time
import weakref
from ctypes import byref, c_size_t, c_void_p
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple, Union

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


def _refuse_during_step(running: Set[int]) -> None:
    if running:
        raise BufferError("a step is running: its memory can be viewed before and after it")


# Closed when the interpreter ends, before its modules are.
_open_trainers: "weakref.WeakSet[Trainer]" = weakref.WeakSet()


@atexit.register
def _close_trainers() -> None:
    for trainer in list(_open_trainers):
        try:
            trainer.close()
        except Error as error:  # The other trainers are closed too.
            print(f"error: {error}", file=sys.stderr)


class Trainer:
    """A run: the ranks of a plan, with parameters and optimizer states. A context manager; one thread uses it at a time.

    plan: a Plan, or the path of one. All others are options of `sluice-train` with the same meaning.
    init: weights (safetensors, a folder, an archive .pt2 or the model that was loaded from it). checkpoint: the folder, with `every` steps, of which `keep` remain (0: all). resume: "auto" continues
      from the newest checkpoint, if there is one; "none"; or a path. seed: of initial values and dropout. threads: of a rank. entries: those whose memory is
      allocated, all by default. steps: of the complete run, for a schedule without `total_steps`.
    launch: "auto" (a process of torchrun, mpirun or srun is one rank), "local" (ranks are threads of this process), "mpi" or "socket".
    progress: a line about each step, on standard error; by default on a terminal and in a notebook.

    Ctrl-C within a step raises KeyboardInterrupt after the step; leaving the `with` block then writes a checkpoint, if there is a folder for it and all ranks
    are in this process. Processes are interrupted at different steps, so no common checkpoint can be written: the run continues from the last of `every`."""

    def __init__(self, plan: Union[Plan, PathLike], *, init: Union[None, Model, PathLike] = None, checkpoint: Optional[PathLike] = None, every: int = 500, keep: int = 0,
                 resume: PathLike = "auto", seed: int = 0, threads: int = 0, entries: Sequence[str] = (), require_proof: bool = False, steps: int = 0,
                 launch: str = "auto", join_seconds: Optional[float] = None, watchdog_seconds: Optional[float] = None, progress: Optional[bool] = None):
        self._handle: Optional[int] = None
        # Held by the thread that is in a call, whose depth is 2 and more where Python code of an input or a signal handler calls the trainer again.
        self._lock, self._depth, self._closes = threading.RLock(), 0, False
        self._process = os.getpid()
        self.description: Dict[str, Any] = {}
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
        _open_trainers.add(self)
        #: What the library states about the run: "world", "ranks" (those of this process), "entries" with inputs and outputs, "parameters", "states", "notes",
        #: which close() reads again.
        self.description = self._describe()
        self._saves_at_interrupt = checkpoint is not None and len(self.description["ranks"]) == self.description["world"]
        self._names = {name: name.encode() for entry in self.description["entries"]
                       for name in (entry["name"], *(port["name"] for port in entry["inputs"]))}
        self._training = {entry["name"] for entry in self.description["entries"] if entry.get("trains", True)}
        # The last run: no Result, which has a reference on the trainer.
        self._last_run: Optional[Tuple[str, int, library.Step]] = None
        self._last: Dict[str, int] = {}
        self._runs = itertools.count(1)
        # Threads that are within a run: views are refused.
        self._running: Set[int] = set()
        self._begin, self._done, self._steps = time.monotonic(), 0, steps

    def __enter__(self) -> "Trainer":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            if kind is not None and issubclass(kind, KeyboardInterrupt) and self._saves_at_interrupt and self._handle:
                self.checkpoint()
        finally:
            self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    def close(self) -> None:
        """Ends the ranks, after a checkpoint that is being written; raises the error of that checkpoint or of the last update. Views remain valid. A second
        call has no effect. Within a call of the same thread the ranks end after that call; in a process that was forked after the start, none end."""
        if not self._handle or self._closes:
            return
        if self._process != os.getpid():
            self._handle = None  # The threads of its ranks are in the other process.
            return
        self._enter()
        self._closes = True
        self._leave()

    def _enter(self) -> int:
        """The handle, which exists until the _leave() of the outermost call."""
        if not self._handle or self._closes:
            raise Error(1, "the trainer is closed", ["views remain valid; open another trainer, from a checkpoint or with init="])
        if self._process != os.getpid():
            raise Error(1, "the trainer was started before this process was forked", ["start a trainer in the process that uses it"])
        if not self._lock.acquire(blocking=False):
            raise Error(1, "another thread is in a function of this trainer", ["a trainer is used by one thread at a time"])
        if not self._handle:
            self._lock.release()
            return self._enter()
        self._depth += 1
        return self._handle

    def _leave(self) -> None:
        self._depth -= 1
        try:
            if self._closes and not self._depth and self._handle:
                handle, self._handle = self._handle, None
                self._end(handle)
        finally:
            self._lock.release()

    def _end(self, handle: int) -> None:
        _open_trainers.discard(self)
        try:
            status = self._library.sluice_session_close(handle)
            described = json.loads(library.RUNTIME.text_of("sluice_session_describe", handle))
            self.description["notes"] = described["notes"]
        finally:
            self._library.sluice_session_free(handle)
            self._line.end()
        library.RUNTIME.check(status)

    def _call(self, function: str, *arguments: Any) -> None:
        handle = self._enter()
        try:
            library.RUNTIME.check(getattr(self._library, function)(handle, *arguments))
        finally:
            self._leave()

    def _describe(self) -> Dict[str, Any]:
        handle = self._enter()
        try:
            return dict(json.loads(library.RUNTIME.text_of("sluice_session_describe", handle)))
        finally:
            self._leave()

    @property
    def last(self) -> Optional[Result]:
        """The result of the last run."""
        return Result(self, *self._last_run) if self._last_run else None

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

        lr: the learning rate, a finite number; without it, that of the plan's schedule. Returns the loss; `last` has the other results. A loss that is not
        finite raises Error with code 5; then the weights are those before the step if the plan has a guard, which `optimizer.in_backward` excludes. A checkpoint
        that cannot be written raises Error after the step, which counts."""
        return self.run(entry, inputs, lr=lr, **named).loss

    def run(self, entry: str, inputs: Optional[Mapping[str, Any]] = None, /, *, lr: Optional[float] = None, **named: Any) -> Result:
        """Runs an entry point, such as "eval_step". Outputs are in the result."""
        # NaN is the rate of the schedule.
        rate = math.nan if lr is None else float(lr)
        if lr is not None and not math.isfinite(rate):
            raise Error(1, f"lr, expected a finite number but got {rate}", ["without lr= the rate is that of the plan's schedule"])
        if inputs:
            named = {**inputs, **named}
        where = self._names.get(entry) or library.encode(entry)
        step, thread = library.Step(), threading.get_ident()
        handle = self._enter()
        try:
            for name, value in named.items():
                with Argument(name, value) as argument:
                    status = self._library.sluice_session_set_input(handle, where, self._names.get(name) or library.encode(name), argument.tensor)
                if status:
                    library.RUNTIME.check(status)
            try:
                self._running.add(thread)
                status = self._library.sluice_session_run(handle, where, rate, step)
            finally:
                self._running.discard(thread)
            # The step is complete also where its checkpoint failed.
            if not status or step.step:
                self._last[entry] = number = next(self._runs)
                self._last_run = (entry, number, step)
            if status:
                library.RUNTIME.check(status)
        finally:
            self._leave()
        result = Result(self, entry, number, step)
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
        # The view has no reference on the trainer.
        check = functools.partial(_refuse_during_step, self._running)
        check()
        if rank not in self.description["ranks"]:
            raise Error(1, f"rank {rank}, expected one of this process, {', '.join(map(str, self.description['ranks']))}")
        return self._tensor("sluice_session_view", library.encode(name), int(rank), check=check)

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
