"""same_run.py A.jsonl B.jsonl: two logs have the same losses, norms and rates, to the last digit."""

import json
import sys


def steps(path):
    lines = [json.loads(line) for line in open(path)]
    return [[line.get(key) for key in ("step", "loss", "grad_norm", "lr", "tokens")] for line in lines if "step" in line]


a, b = (steps(path) for path in sys.argv[1:])
if not a or a != b:
    sys.exit(f"same_run: the logs differ: {a} and {b}")
