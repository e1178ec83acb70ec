"""checkpoint_memory.py WITHOUT.json WITH.json RUN.jsonl HELD WRITERS: a run with --checkpoint takes the memory that `sluice-plan memory` gives.

WITHOUT and WITH are the output of `sluice-plan memory --json` without and with --checkpoint; HELD: ranks of the measured process; WRITERS:
ranks of the mesh that write parameters, the others write none.
"""

import json
import sys

from sluice import read_log

with open(sys.argv[1]) as without, open(sys.argv[2]) as with_checkpoint:
    plain, saving = json.load(without), json.load(with_checkpoint)
held, writers = int(sys.argv[4]), int(sys.argv[5])
_, summary = read_log(sys.argv[3])
spaces = {space["space"]: space for space in saving["spaces"]}
memory = saving["checkpoint"]
assert "checkpoint" not in plain and memory["bytes"] == memory["copy"] + memory["block"]
# Arenas end at a multiple of their alignment.
assert 0 < memory["copy"] <= sum(space["persistent"] for space in spaces.values()) < memory["copy"] + 256
expected = {name: space["bytes"] + space["workspace"] + (memory["bytes"] if name == "host" else 0) for name, space in spaces.items()}
assert summary["measured_peak"] == summary["predicted_peak"] == expected, (summary, expected)
pages = -(-memory["bytes"] // 4096) * 4096 * writers + memory["block"] * (saving["world"] - writers)
assert saving["process"]["checkpoint"] == saving["predicted_process"] - plain["predicted_process"] == pages
if held == saving["world"]:
    assert summary["predicted_process"] == saving["predicted_process"]
difference = abs(summary["measured_process"] - summary["predicted_process"])
assert difference <= max(0.02 * summary["measured_process"], 4 << 20), summary
