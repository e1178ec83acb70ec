"""arena.py PLAN LOG TRAINING ENTRY...: the memory of a run of these entry points, against the plan and a training run.

The arena ends where the last of the persistent buffers and the buffers of the entry points ends, and the workspace of a
stream is the largest of their launches'.
"""

import json
import re
import subprocess
import sys

plan, log, training, *entries = sys.argv[1:]


def peak(path):
    summary = json.loads(open(path).read().splitlines()[-1])["summary"]
    assert summary["predicted_peak"] == summary["measured_peak"], summary
    return summary["measured_peak"]["device"]


printed = subprocess.run(["sluice-plan", "print", plan], capture_output=True, text=True, check=True).stdout
end, workspace, entry = 0, {}, None
for line in printed.splitlines():
    if match := re.search(r"^buffer .* device \w+ at (\d+) bytes (\d+) (\w+)", line):
        if match[3] in ("persistent", *entries):
            end = max(end, int(match[1]) + int(match[2]))
    elif match := re.search(r"^entry (\w+)", line):
        entry = match[1]
    elif entry in entries and (match := re.search(r"^ +\d+ (\w+) .* workspace (\d+)", line)):
        workspace[match[1]] = max(workspace.get(match[1], 0), int(match[2]))
expected = end + sum(workspace.values())
assert peak(log) == expected, f"expected {expected} but got {peak(log)}"
assert peak(log) < peak(training), f"{peak(log)} is not less than {peak(training)}"
print("less memory than the train step, as predicted")
