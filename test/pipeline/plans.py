"""Compiles models and reads plans, by the tools on PATH, for the scripts of this folder."""

import collections
import json
import re
import subprocess
from pathlib import Path


def run(*command):
    return subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def import_model(config, path, batch, sequence):
    done = run("sluice-import", "hf", config, "--batch", batch, "--sequence", sequence, "-o", path)
    assert done.returncode == 0, done.stderr
    return path


def compile_plan(model, path, *settings):
    arguments = [part for setting in settings for part in ("--set", setting)]
    done = run("sluice-compile", model, *arguments, "-o", path)
    assert done.returncode == 0, f"{settings}: {done.stderr}"
    return Plan(Path(path))


Instruction = collections.namedtuple("Instruction", "stream when phase unit what recompute")


class Plan:
    """A plan, as `sluice-plan` prints and describes it."""

    def __init__(self, path):
        self.path = path
        self.described = json.loads(run("sluice-plan", "describe", path, "--json").stdout)
        self.text = run("sluice-plan", "print", path).stdout
        self.bytes = path.read_bytes()
        step = self.text[self.text.index("entry train_step"):]
        step = step[:step.index("\nentry ")] if "\nentry " in step else step
        # stream, when, phase, unit, recompute, kernel
        rows = [m.groups() for m in re.finditer(r"^ +\d+ (\w+) (\w+) (\w+) (\S+?)( recompute)?: (\w+)", step, re.M)]
        self.instructions = [Instruction(*row[:4], row[5], bool(row[4])) for row in rows]

    def count(self, what, **where):
        return sum(1 for one in self.instructions
                   if one.what == what and all(getattr(one, key) == value for key, value in where.items()))

    def device(self):
        return next(a for a in self.described["arenas"] if a["space"] == "device")

    def point(self, name):
        return next(p["bytes"] for p in self.described["memory"]["points"]
                    if p["entry"] == "train_step" and p["name"] == name)

    def order(self):
        return [(e["what"], e["unit"]) for e in self.described["events"] if e["entry"] == "train_step"]
