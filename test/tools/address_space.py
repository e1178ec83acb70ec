"""address_space.py PLAN DATA: limits the address space of runs to less than they need.

Finds the least limit with which a run ends well, then runs with less, with a checkpoint of an earlier run. Each run must end with 0, 1 or 5
and leave the checkpoint complete.
"""

import resource
import shutil
import subprocess
import sys

plan, data = sys.argv[1:]
MIB = 1 << 20


def train(folder, steps, mebibytes):
    """(exit code, standard error) of a run with this limit; 0: none."""
    def limit():
        if mebibytes:
            resource.setrlimit(resource.RLIMIT_AS, (mebibytes * MIB, mebibytes * MIB))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    command = ["sluice-train", plan, "--data", data, "--steps", str(steps), "--quiet", "--checkpoint", folder, "--every", "1"]
    run = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True)
    return run.returncode, run.stderr


def verify(folder):
    subprocess.run(["sluice-checkpoint", "verify", folder], check=True, stdout=subprocess.DEVNULL)


assert train("before", 1, 0)[0] == 0
least, fails = 4096, 1
while least - fails > 2:
    middle = (least + fails) // 2
    shutil.rmtree("probe", ignore_errors=True)
    if train("probe", 2, middle)[0] == 0:
        least = middle
    else:
        fails = middle
for less in (8, 16, 24, 32, 48, 64, 96):
    shutil.rmtree("run", ignore_errors=True)
    shutil.copytree("before", "run")
    code, text = train("run", 3, least - less)
    assert code in (0, 1, 5), (least, less, code, text)
    verify("run")
    lines = text.splitlines()
    if lines:
        print(f"exit code {code}: {lines[0]}", *lines[1:], sep="\n")
