"""Executes mutants that the checker refuses for order or memory, of the plans of random models, meshes and recipes (test/pipeline/random_recipes.py).

usage: python3 test/mutants/refused_mutants.py FOLDER FIRST PLANS MUTANTS

Plans have the numbers FIRST to FIRST + PLANS - 1, and MUTANTS refused mutants each are executed. Prints the table of docs/mutants.md. FOLDER is for scratch
files, $SLUICE_BUILD (else build/) the build.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("SLUICE_BUILD", ROOT / "build")) / "bin"
os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
sys.path += [str(ROOT / "test/python"), str(ROOT / "test/pipeline")]
from random_recipes import Case
from sluice import SCRATCH, Plan

FIRST, PLANS, MUTANTS = map(int, sys.argv[2:5])
SCRATCH.mkdir(parents=True, exist_ok=True)
sums = {}
for number in range(FIRST, FIRST + PLANS):
    case = Case(number)
    plan = Plan(case.model, case.recipe + case.step)
    done = subprocess.run([BIN / "refused-mutants", plan.path, str(MUTANTS), str(number)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: case {number}: exit {done.returncode} {done.stderr}")
    for name, counts in json.loads(done.stdout).items():
        sums.setdefault(name, collections.Counter()).update(counts)
print("| refused for | executed | other numbers | stopped | same numbers |\n|---|---|---|---|---|")
for name, counts in sorted(sums.items()):
    stopped = counts["stopped"] + counts["crashed"] + counts["stalled"]
    print(f"| {name} | {counts['mutants']} | {counts['different']} | {stopped} | {counts['same']} |")
