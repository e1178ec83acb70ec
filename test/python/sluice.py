"""Functions of the scripts that test Sluice's programs: models, plans and what they contain, runs, and expectations.

A script registers its tests with @test and ends with main(). Its arguments are a scratch folder and names of tests, or --list, which prints the names of all.
The script runs these tests, or all, prints each failure, and exits with 1 if there is one. lit runs each test as a separate one (testformat.py) and sets PYTHONPATH
to the folder of this module.
"""

import collections
import contextlib
import functools
import itertools
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from loops import LoopTrace

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = Path(os.environ.get("SLUICE_REFERENCE", ROOT / "test" / "reference"))
SCRATCH = Path(sys.argv[1]) if len(sys.argv) > 1 and not sys.argv[1].startswith("--") else Path(".")
tests, problems = [], []
current = ""


class Failed(Exception):
    pass


def test(function):
    if function.__module__ != "__main__":
        raise ImportError(f"'{function.__module__}' is a script of tests, and is imported")
    tests.append(function)
    return function


def main(no_empty_loops=False):
    """`no_empty_loops`: a loop of a test, or of a function of its script, whose body never ran is a problem."""
    global current
    if "--list" in sys.argv:
        print("\n".join(function.__name__ for function in tests))
        return
    names = sys.argv[2:] or [function.__name__ for function in tests]
    if unknown := set(names) - {function.__name__ for function in tests}:
        sys.exit(f"no such tests: {', '.join(sorted(unknown))}")
    SCRATCH.mkdir(parents=True, exist_ok=True)
    for function in (function for function in tests if function.__name__ in names):
        current = function.__name__
        trace = LoopTrace(sys.modules["__main__"].__file__)
        try:
            with trace if no_empty_loops else contextlib.nullcontext():
                function()
        except Failed as failure:
            problems.append(f"{current}: {failure}")
        else:
            problems.extend(f"{current}: line {line}: loop over an empty list" for line in trace.empty())
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


def expect(condition, message):
    if not condition:
        problems.append(f"{current}: {message}")
    return condition


def expect_equal(found, wanted, what):
    return expect(found == wanted, f"{what}: expected\n  {wanted}\nbut got\n  {found}")


def expect_near(found, wanted, tolerance, what):
    is_near = len(found) == len(wanted) and all(
        math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) for a, b in zip(found, wanted))
    expect(is_near, f"{what}: expected {wanted} within {tolerance} but got {found}")


def try_run(*command, **options):
    """The finished process, for any exit code."""
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


def run(*command):
    done = try_run(*command)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
    return done


def set_options(settings):
    return [part for setting in settings for part in ("--set", setting)]


# Each file has a separate name: a test may read the files of another one again.
numbers = itertools.count()


@functools.cache
def zoo(name, *settings):
    path = SCRATCH / ("-".join((name,) + settings).replace("=", "") + ".mlir")
    run("sluice-import", "zoo", name, *set_options(settings), "-o", path)
    return path


def linears(count, dim, rows):
    """A model of Linear(dim, dim), `count` times; its loss is the sum of the results."""
    path = SCRATCH / f"linears-{count}-{dim}-{rows}.mlir"
    value, weight, bias = f"tensor<{rows}x{dim}xf32>", f"tensor<{dim}x{dim}xf32>", f"tensor<{dim}xf32>"
    text = [f'module attributes {{model.batch = {rows} : i64, model.name = "linears"}} {{']
    for i in range(count):
        text += [f"model.parameter @linear{i}.weight : {weight} uniform(-0.04, 0.04)", f"model.parameter @linear{i}.bias : {bias} uniform(-0.04, 0.04)"]
    text.append(f'func.func @train_step(%x0: {value} {{model.input = "x"}}) -> (tensor<f32> {{model.output = "loss"}}) '
                "attributes {model.entry = #model.entry<train>} {")
    for i in range(count):
        text += [f"%w{i} = model.read @linear{i}.weight : {weight}", f"%b{i} = model.read @linear{i}.bias : {bias}",
                 f"%y{i} = model.matmul %x{i}, %w{i} {{transpose_rhs}} : ({value}, {weight}) -> {value}",
                 f"%x{i + 1} = model.add %y{i}, %b{i} : ({value}, {bias}) -> {value}"]
    text += [f"%loss = model.reduce_sum %x{count} {{dims = array<i64: 0, 1>}} : ({value}) -> tensor<f32>", "return %loss : tensor<f32>", "}", "}"]
    path.write_text("\n".join(text))
    return path


def reference_config(name):
    return json.loads((REFERENCE / name / "config.json").read_text())


def demo_config():
    return json.loads((ROOT / "docs" / "examples" / "gpt2-small-demo" / "config.json").read_text())


def hugging_face(config, batch=2, sequence=16, *options):
    """The model of a config, or of the config of a reference folder."""
    return import_config(json.dumps(reference_config(config) if isinstance(config, str) else config), batch, sequence, options)


@functools.cache
def import_config(text, batch, sequence, options):
    path = SCRATCH / f"{json.loads(text)['model_type']}-{next(numbers)}.json"
    path.write_text(text)
    model = path.with_suffix(".mlir")
    run("sluice-import", "hf", path, "--batch", batch, "--sequence", sequence, *options, "-o", model)
    return model


def gpt2_tiny(batch=2, sequence=16):
    return hugging_face("gpt2-tiny", batch, sequence)


def try_compile(model, settings, *options, plan=None):
    """The finished process of sluice-compile, which writes a plan only if it succeeds."""
    plan = plan or SCRATCH / "x.plan"
    plan.unlink(missing_ok=True)
    done = try_run("sluice-compile", model, *set_options(settings), *options, "-o", plan)
    expect(plan.exists() == (done.returncode == 0), f"{settings}: exit code {done.returncode}, and the plan is {'' if plan.exists() else 'not '}written")
    return done


def expect_refused(model, settings, *texts):
    """Exit code 1, and a message that contains the texts."""
    done = try_compile(model, settings)
    for text in texts:
        expect(done.returncode == 1 and text in done.stderr,
               f"{settings}: expected exit code 1 and '{text}' but got {done.returncode} and {done.stderr}")


def expect_remark(model, settings, text):
    done = try_compile(model, settings)
    expect(done.returncode == 0 and text in done.stderr,
           f"{settings}: expected exit code 0 and '{text}' but got {done.returncode} and {done.stderr}")


@functools.cache
def compiled(model, written, settings, options):
    """One recipe gives one plan, byte for byte (determinism.test): a script compiles it once."""
    plan = SCRATCH / f"{next(numbers)}.plan"
    done = try_compile(model, settings, *options, plan=plan)
    if done.returncode != 0:
        raise Failed(f"{model}, {settings}: exit {done.returncode}\n{done.stderr}")
    return plan


@functools.cache
def described(path):
    return json.loads(run("sluice-plan", "describe", "--json", path).stdout)


def folder(name):
    """A path in the scratch folder at which nothing is."""
    path = SCRATCH / f"{name}-{next(numbers)}"
    shutil.rmtree(path, ignore_errors=True)
    return path


@functools.cache
def printed(path):
    return run("sluice-plan", "print", path).stdout


# `operands` is the text after the kernel or the kind of an instruction.
Instruction = collections.namedtuple("Instruction", "index stream when phase unit recompute what operands")
INSTRUCTION = re.compile(r"^    (\d+) (\w+) (\S+) (\w+)(?: invocation \d+)? (\S+?)( recompute)?: (\w+)(.*)$", re.M)

# Persistent buffers have no entry point.
Buffer = collections.namedtuple("Buffer", "name space kind bytes entry begin end")
BUFFER = re.compile(r"^buffer \d+ %(\S+):\S+ (\w+) (\w+) at \d+ bytes (\d+) (?:persistent|(\w+) \[(\d+), (\d+)\))", re.M)


class Plan:
    """A plan that the checker accepts (sluice-compile runs it on its output), and the output of `describe` and `print`."""

    def __init__(self, model, settings=(), *options):
        self.path = compiled(model, os.stat(model).st_mtime_ns, tuple(settings), options)

    @property
    def description(self):
        return described(self.path)

    @property
    def text(self):
        return printed(self.path)

    @property
    def bytes(self):
        return self.path.read_bytes()

    def check(self):
        run("sluice-plan", "check", self.path)
        return self

    def instructions(self, entry="train_step"):
        text = self.text[self.text.index(f"\nentry {entry} "):].split("\nentry ")[1]
        found = [Instruction(int(row[0]), *row[1:5], bool(row[5]), *row[6:]) for row in INSTRUCTION.findall(text)]
        assert len(found) == text.count("\n    "), f"{self.path}: instructions that are not read"
        return found

    def count_instructions(self, what, **where):
        return sum(1 for one in self.instructions()
                   if one.what == what and all(getattr(one, key) == value for key, value in where.items()))

    def buffers(self):
        return [Buffer(*row[:3], int(row[3]), row[4], int(row[5] or 0), int(row[6] or 0)) for row in BUFFER.findall(self.text)]

    def collectives(self, kind=None, entry="train_step", **where):
        return [c for c in self.description["collectives"] if c["entry"] == entry and (kind is None or c["kind"] == kind) and
                all(c[key] == value for key, value in where.items())]

    def count(self, kind, **where):
        """The number of collectives of units."""
        return sum(1 for c in self.collectives(kind, **where) if c["unit"] is not None)

    def units(self):
        return [unit["name"] for unit in self.description["units"]]

    def parameters(self):
        return {p["name"]: p for unit in self.description["units"] for p in unit["parameters"]}

    def events(self, phase=None, microbatch=0, entry="train_step", only="URP"):
        """`U(h.0)`, `R(h.0)`, `P(h.0)` in the order of issue: unshard, reshard, reduce (also A: all_reduce, F: fetch, O: offload)."""
        letters = {"unshard": "U", "reshard": "R", "reduce": "P", "all_reduce": "A", "fetch": "F", "offload": "O"}
        return [f"{letters[e['what']]}({e['unit']})" for e in self.description["events"]
                if e["entry"] == entry and e["microbatch"] == microbatch and letters.get(e["what"], "?") in only and
                (phase is None or e["phase"] == phase)]

    def arena(self, space="device"):
        return next(a for a in self.description["arenas"] if a["space"] == space)

    def point(self, name, entry="train_step"):
        return next(p["bytes"] for p in self.description["memory"]["points"] if p["entry"] == entry and p["name"] == name)


class MemoryTimeline:
    """Live bytes of device memory by class at every instruction of an entry point."""

    def __init__(self, plan, entry="train_step"):
        self.phases = [one.phase for one in plan.instructions(entry)]
        self.buffers = []
        # Lifespans of gathered parameters, by name.
        self.gathers = {}
        for buffer in plan.buffers():
            if buffer.space != "device" or buffer.entry not in ("", entry):
                continue
            lifespan = (buffer.begin, buffer.end) if buffer.entry else (0, len(self.phases))
            self.buffers.append((buffer.kind, buffer.bytes, *lifespan))
            if buffer.kind == "gathered" and (match := re.fullmatch(r"(\S+)\.gathered\.\d+", buffer.name)):
                self.gathers.setdefault(match[1], []).append(lifespan)

    def at(self, instruction, classes=None):
        return sum(size for kind, size, begin, end in self.buffers if begin <= instruction < end and
                   (classes is None or kind in classes))

    def peak(self, phases, without=()):
        """Over the instructions of these phases, of all classes but some."""
        kinds = {kind for kind, *_ in self.buffers} - set(without)
        return max((self.at(i, kinds) for i, phase in enumerate(self.phases) if phase in phases), default=0)


def read_log(path):
    """The steps of a run and its summary."""
    *steps, last = map(json.loads, Path(path).read_text().splitlines())
    return steps, last["summary"]


Run = collections.namedtuple("Run", "loss norm weights steps summary")


def train_once(path, data, steps, options):
    # The weights are in memory if that is possible: to wait for a disk takes longer than to train.
    log = SCRATCH / "x.jsonl"
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else SCRATCH) as folder:
        run("sluice-train", path, "--data", data, "--steps", steps, "--log", log, "--save", Path(folder) / "saved", "--quiet", *options)
        weights = (Path(folder) / "saved" / "model.safetensors").read_bytes()
    lines, summary = read_log(log)
    return Run([line["loss"] for line in lines], [line["grad_norm"] for line in lines], weights, lines, summary)


# One plan gives one run, bit for bit.
trained = functools.cache(train_once)


def train(plan, *options, steps=3, data="random:3"):
    # The file of the initial weights may differ at the next call.
    return (train_once if "--init" in options else trained)(plan.path, data, steps, options)


def split_safetensors(weights):
    """The header of a safetensors file, and its data."""
    size = struct.unpack("<Q", weights[:8])[0]
    return json.loads(weights[8:8 + size]), weights[8 + size:]


def join_safetensors(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def join_batches(paths):
    """A safetensors file with the tensors of several, one after another along the first dim."""
    entries, parts = {}, {}
    for path in paths:
        header, data = split_safetensors(Path(path).read_bytes())
        for name, entry in header.items():
            if name != "__metadata__":
                entries[name] = entry
                parts.setdefault(name, []).append(data[slice(*entry["data_offsets"])])
    header, joined = {}, b""
    for name, pieces in parts.items():
        begin = len(joined)
        joined += b"".join(pieces)
        first, *rest = entries[name]["shape"]
        header[name] = {"dtype": entries[name]["dtype"], "shape": [first * len(pieces), *rest], "data_offsets": [begin, len(joined)]}
    return join_safetensors(header, joined)


def tensors(weights):
    """Name to tuple of numbers of a safetensors file."""
    header, data = split_safetensors(weights)
    found = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        code, size = {"F32": ("f", 4), "F64": ("d", 8), "I64": ("q", 8)}[entry["dtype"]]
        found[name] = struct.unpack(f"<{(end - begin) // size}{code}", data[begin:end])
    return found


def expect_same_bits(found, wanted, what, norm=True):
    expect_equal(found.loss, wanted.loss, f"{what}: losses")
    if norm:
        expect_equal(found.norm, wanted.norm, f"{what}: norms")
    else:
        expect_near(found.norm, wanted.norm, 1e-6, f"{what}: norms")
    expect(found.weights == wanted.weights, f"{what}: expected the same weights but got others")


def expect_near_runs(found, wanted, tolerance, what, weights=None):
    """`weights` is the tolerance of the weights; without it they are not compared."""
    expect_near(found.loss, wanted.loss, tolerance, f"{what}: losses")
    expect_near(found.norm, wanted.norm, 10 * tolerance, f"{what}: norms")
    if weights is not None:
        a, b = tensors(found.weights), tensors(wanted.weights)
        expect_equal(sorted(a), sorted(b), f"{what}: names of weights")
        for name in a:
            worst = max((abs(x - y) for x, y in zip(a[name], b[name])), default=0)
            expect(worst <= weights, f"{what}: '{name}', expected weights within {weights} but got {worst}")
