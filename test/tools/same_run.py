"""same_run.py A.jsonl B.jsonl: two logs have the same losses, norms and rates, to the last digit."""

import sys

from sluice import read_log


def steps(path):
    return [[step.get(key) for key in ("step", "loss", "grad_norm", "lr", "tokens")] for step in read_log(path)[0]]


a, b = (steps(path) for path in sys.argv[1:])
if not a or a != b:
    sys.exit(f"same_run: the logs differ: {a} and {b}")
