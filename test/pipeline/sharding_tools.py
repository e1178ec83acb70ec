"""Functions of the scripts about sharded training: models by the importer, plans by recipes, readings of plans, and runs.

A script registers its tests with @test and ends with main(); its arguments are a scratch folder, and --list. It runs every
test, prints each failure, and exits with 1 where there is one.
"""

import collections
import functools
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = Path(os.environ.get("SLUICE_REFERENCE", ROOT / "test" / "reference"))
tests, problems = [], []
current = ""
SCRATCH = Path(sys.argv[1]) if len(sys.argv) > 1 and not sys.argv[1].startswith("--") else Path(".")


def test(function):
    tests.append(function)
    return function


def expect(condition, message):
    if not condition:
        problems.append(f"{current}: {message}")
    return condition


def expect_equal(found, wanted, what):
    return expect(found == wanted, f"{what}: expected\n  {wanted}\nbut got\n  {found}")


def main():
    global current
    if "--list" in sys.argv:
        print("\n".join(function.__name__ for function in tests))
        return
    SCRATCH.mkdir(parents=True, exist_ok=True)
    for function in tests:
        current = function.__name__
        try:
            function()
        except Failed as failure:
            problems.append(f"{current}: {failure}")
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


class Failed(Exception):
    pass


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
    return done


@functools.cache
def zoo(name, *settings):
    path = SCRATCH / ("-".join((name,) + settings).replace("=", "") + ".mlir")
    run("sluice-import", "zoo", name, *[part for setting in settings for part in ("--set", setting)], "-o", path)
    return path


@functools.cache
def tiny(batch=2, sequence=16):
    path = SCRATCH / f"tiny-{batch}-{sequence}.mlir"
    run("sluice-import", "hf", REFERENCE / "gpt2-tiny" / "config.json", "--batch", batch, "--sequence", sequence, "-o", path)
    return path


def with_settings(settings):
    return [part for setting in settings for part in ("--set", setting)]


def compile_by(model, settings):
    """The process that has compiled, whatever it exited with."""
    command = ["sluice-compile", str(model), *with_settings(settings), "-o", str(SCRATCH / "x.plan")]
    return subprocess.run(command, capture_output=True, text=True)


def refuse(model, settings, *texts):
    """An impossible recipe: exit code 1, and a message that names the line and a value that works."""
    made = compile_by(model, settings)
    for text in texts:
        expect(made.returncode == 1 and text in made.stderr,
               f"{settings}: expected exit code 1 and '{text}' but got {made.returncode} and {made.stderr}")


def remark(model, settings, text):
    made = compile_by(model, settings)
    expect(made.returncode == 0 and text in made.stderr,
           f"{settings}: expected exit code 0 and '{text}' but got {made.returncode} and {made.stderr}")


# One recipe gives one plan, and one plan one run, bit by bit (determinism.test, sharding-bits.test): equal requests of a
# script are served once.
made = itertools.count()


@functools.cache
def compiled(model, written, settings, name):
    path = SCRATCH / f"{name}-{next(made)}.plan"
    run("sluice-compile", model, *with_settings(settings), "-o", path)
    return path


@functools.cache
def described(path):
    return json.loads(run("sluice-plan", "describe", "--json", path).stdout)


class Plan:
    """A plan that the checker accepts (sluice-compile runs it on its output), and the output of `describe`."""

    def __init__(self, model, settings, name="x"):
        self.settings = settings
        self.path = compiled(model, os.stat(model).st_mtime_ns, tuple(settings), name)

    @property
    def shown(self):
        return described(self.path)

    def collectives(self, kind=None, entry="train_step", **where):
        return [c for c in self.shown["collectives"] if c["entry"] == entry and (kind is None or c["kind"] == kind) and
                all(c[key] == value for key, value in where.items())]

    def count(self, kind, **where):
        """Those of units."""
        return sum(1 for c in self.collectives(kind, **where) if c["unit"] is not None)

    def units(self):
        return [unit["name"] for unit in self.shown["units"]]

    def parameters(self):
        return {p["name"]: p for unit in self.shown["units"] for p in unit["parameters"]}

    def events(self, phase=None, microbatch=0, entry="train_step", only="URP"):
        """`U(h.0)`, `R(h.0)`, `P(h.0)` in the order of issue."""
        letters = {"unshard": "U", "reshard": "R", "reduce": "P", "all_reduce": "A"}
        return [f"{letters[e['what']]}({e['unit']})" for e in self.shown["events"]
                if e["entry"] == entry and e["microbatch"] == microbatch and letters.get(e["what"], "?") in only and
                (phase is None or e["phase"] == phase)]

    def arena(self):
        return next(a for a in self.shown["arenas"] if a["space"] == "device")

    def point(self, name, entry="train_step"):
        return next(p["bytes"] for p in self.shown["memory"]["points"] if p["entry"] == entry and p["name"] == name)


Run = collections.namedtuple("Run", "loss norm weights")


@functools.cache
def trained(path, data, steps, options):
    """The log and the weights, which are saved in memory where that is possible: to wait for a disk takes longer than to train."""
    log = SCRATCH / "x.jsonl"
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else SCRATCH) as folder:
        run("sluice-train", path, "--data", data, "--steps", steps, "--log", log, "--save", Path(folder) / "saved", "--quiet", *options)
        return log.read_text(), (Path(folder) / "saved" / "model.safetensors").read_bytes()


def train(plan, *options, steps=3, data="random:3"):
    # A file that a run begins with may be another one the next time.
    log, weights = (trained.__wrapped__ if "--init" in options else trained)(plan.path, data, steps, options)
    (SCRATCH / "x.jsonl").write_text(log)
    lines = [json.loads(line) for line in log.splitlines()]
    return Run([line["loss"] for line in lines if "loss" in line], [line["grad_norm"] for line in lines if "loss" in line], weights)


def tensors(weights):
    """Name to list of numbers of a safetensors file."""
    import struct
    size = struct.unpack("<Q", weights[:8])[0]
    header = json.loads(weights[8:8 + size])
    found = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        form = {"F32": ("f", 4), "F64": ("d", 8), "I64": ("q", 8)}[entry["dtype"]]
        found[name] = struct.unpack(f"<{(end - begin) // form[1]}{form[0]}", weights[8 + size + begin:8 + size + end])
    return found


def same_bits(found, wanted, what, norm=True):
    expect(found.loss == wanted.loss, f"{what}: losses, expected {wanted.loss} but got {found.loss}")
    if norm:
        expect(found.norm == wanted.norm, f"{what}: norms, expected {wanted.norm} but got {found.norm}")
    else:
        near(found.norm, wanted.norm, 1e-6, f"{what}: norms")
    expect(found.weights == wanted.weights, f"{what}: expected the same weights but got others")


def near(found, wanted, tolerance, what):
    good = len(found) == len(wanted) and all(
        math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) for a, b in zip(found, wanted))
    expect(good, f"{what}: expected {wanted} within {tolerance} but got {found}")


def near_runs(found, wanted, tolerance, what, weights=None):
    near(found.loss, wanted.loss, tolerance, f"{what}: losses")
    near(found.norm, wanted.norm, 10 * tolerance, f"{what}: norms")
    if weights is not None:
        a, b = tensors(found.weights), tensors(wanted.weights)
        expect_equal(sorted(a), sorted(b), f"{what}: names of weights")
        for name in a:
            worst = max((abs(x - y) for x, y in zip(a[name], b[name])), default=0)
            expect(worst <= weights, f"{what}: '{name}', expected weights within {weights} but got {worst}")
