"""python_step.py [STEPS]: microseconds of the fastest step of a small plan on one rank, in sluice-train and in the Python package, and their difference.
Other work on the machine lengthens most steps, but not all.

Run it with test/python in PYTHONPATH and the programs of the build in PATH; the runs alternate. The goal is at most 50 us above sluice-train."""

import statistics
import sys
import time
from pathlib import Path

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
sys.argv = [sys.argv[0]]
from package import read_log, run, rows, small_plan, sluice, write_rows  # noqa: E402

ROUNDS = 5


def tool(plan, data, folder):
    """Of the times that the log states, in microseconds."""
    run("sluice-train", plan, "--data", data, "--order", "sequential", "--steps", STEPS, "--log", folder / "log.jsonl", "--quiet")
    return 1000 * min(step["step_ms"] for step in read_log(folder / "log.jsonl")[0])


def loop(plan, inputs):
    times = []
    with sluice.Trainer(plan, progress=False) as trainer:
        for _ in range(STEPS):
            begin = time.perf_counter()
            trainer.step(inputs)
            times.append(time.perf_counter() - begin)
    return 1e6 * min(times)


def main():
    import tempfile
    with tempfile.TemporaryDirectory() as name:
        folder, plan, inputs = Path(name), small_plan(1), rows(2)
        plan.save(folder / "m.plan")
        data = write_rows(folder / "rows.safetensors", inputs)
        pairs = [(tool(folder / "m.plan", data, folder), loop(plan, inputs)) for _ in range(ROUNDS)]
    for a, b in pairs:
        print(f"sluice-train {a:.1f} us  package {b:.1f} us  difference {b - a:.1f} us")
    print(f"median difference {statistics.median(b - a for a, b in pairs):.1f} us")


main()
