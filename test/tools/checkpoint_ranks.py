"""checkpoint_ranks.py PLAN SCRATCH: two processes that see different checkpoints in 'run' are refused before the first step.

Each process has a separate working directory. All pairs of two different contents, and a damaged copy of each file.
"""

import os
import shutil
import sys
from pathlib import Path

from sluice import ROOT, run, try_run

plan, scratch = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
STEPS = {"none": "no step", "step-2": "steps 2", "step-4": "steps 4", "other": "steps 2", "damaged": "steps 4"}
PROCESSES = ROOT / "test" / "tools" / "processes.py"


def train(folder, *options):
    run("sluice-train", plan, "--data", "random:1", "--quiet", "--checkpoint", folder, *options)


def damage(file):
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)


def start(contents):
    """The finished job of two processes with these contents of their folders."""
    for rank, content in enumerate(contents):
        folder = scratch / f"rank{rank}"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(content, folder / "run")
    return try_run("python3", PROCESSES, "torchrun", 2, "sh", "-c",
                   f"cd rank$RANK && exec sluice-train {plan} --data random:1 --steps 6 --checkpoint run", cwd=scratch)


def main():
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    train(scratch / "both", "--steps", 4, "--every", 2)
    contents = {name: scratch / name for name in STEPS}
    contents["none"].mkdir()
    for name, step in (("step-2", 2), ("step-4", 4), ("damaged", 4)):
        shutil.copytree(scratch / "both" / f"step-{step:08}", contents[name] / f"step-{step:08}")
    train(contents["other"], "--steps", 2, "--seed", 1)
    damage(next(contents["damaged"].glob("*/shard-00002-*")))
    problems = []

    def expect_refused(what, done, *texts):
        good = done.returncode == 4 and ("\n" + done.stderr).count("\nerror: ") == 1 and all(text in done.stderr for text in texts)
        if not good or "\nstep " in done.stdout or done.stdout.startswith("step "):
            problems.append(f"{what}: expected a refusal with {texts} before the first step but got {done.returncode}\n{done.stdout}{done.stderr}")

    pairs = 0
    for first in contents:
        for second in contents:
            if first == second:
                continue
            pairs += 1
            seen, other = STEPS[first], STEPS[second]
            text = f"'run', expected checkpoints of {seen} as on rank 0 but got {other}" if seen != other else "digest"
            expect_refused(f"{first} and {second}", start((contents[first], contents[second])), text)
    files = sorted(os.listdir(scratch / "step-4" / "step-00000004"))
    for rank in (0, 1):
        for file in files:
            copy = scratch / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(contents["step-4"], copy)
            damage(copy / "step-00000004" / file)
            both = [contents["step-4"], contents["step-4"]]
            both[rank] = copy
            expect_refused(f"damaged '{file}' on rank {rank}", start(both), "run/step-00000004")
    # The same bits in two copies continue, until they are saved.
    done = start((contents["step-4"], contents["step-4"]))
    if "step 5/6" not in done.stdout:
        problems.append(f"equal copies: {done.stdout}{done.stderr}")
    print("\n".join(problems) or f"{pairs} pairs and {2 * len(files)} damaged files are refused")
    sys.exit(1 if problems else 0)


main()
