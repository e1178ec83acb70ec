#!/usr/bin/env python3
"""New pages that a step of sluice-train requests from the system: the difference of runs of 3 and 9 steps."""
import resource
import subprocess
import sys


def faults(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before


command = ["sluice-train", sys.argv[1], "--data", "random:1", "--quiet"]
few, many = (faults([*command, "--steps", str(steps)]) for steps in (3, 9))
# A run ends a thread's stack or a table's page earlier or later than another: some 100 pages in all.
print("steps take " + ("fresh pages: %d" % ((many - few) // 6) if many - few > 600 else "no fresh pages"))
