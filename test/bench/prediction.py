"""prediction.py [--machine FILE] [--seconds S]: predicted and measured step times of ten plans on this CPU.

Calibrates (or reads FILE), runs each plan in turn, in three rounds, for about S seconds (default 3) after half as long to warm up, and prints a
table: predicted step, the least of the rounds' median steps, error, and the processor time of a step divided by the cores that its ranks use.
Exits with 1 if an error is above 10 %, or if two plans whose predictions differ by more than 10 % are ranked wrongly. Needs sluice-import,
sluice-compile, sluice-plan and sluice-train in PATH, and a quiet machine: rounds leave out only what disturbs some of them.
"""

import argparse
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SMALL, GPT2, LLAMA = ROOT / "docs/examples/gpt2-small-demo/config.json", ROOT / "test/bench/step/config.json", ROOT / "test/bench/step/llama.json"
ROUNDS = 3
# Name, arguments of sluice-import, settings of sluice-compile.
PLANS = [
    ("GPT-2 small, f32, 1 rank", ["hf", SMALL, "--batch", 8, "--sequence", 128], []),
    ("GPT-2 small, f32, 2 ranks", ["hf", SMALL, "--batch", 8, "--sequence", 128], ["mesh.shard=2"]),
    ("GPT-2 small, bf16, 4 ranks", ["hf", SMALL, "--batch", 8, "--sequence", 128], ["mesh.shard=4", "precision.compute=bf16"]),
    ("GPT-2, f32, 2 ranks", ["hf", GPT2, "--batch", 2, "--sequence", 256], ["mesh.shard=2"]),
    ("GPT-2, bf16, 1 rank, recompute", ["hf", GPT2, "--batch", 2, "--sequence", 256], ["precision.compute=bf16", "recompute.policy=block"]),
    ("GPT-2, f32, 2 ranks (tensor)", ["hf", GPT2, "--batch", 2, "--sequence", 256], ["mesh.tensor=2", 'sharding.tensor="megatron"']),
    ("Llama, f32, 1 rank", ["hf", LLAMA, "--batch", 2, "--sequence", 256], []),
    ("Llama, bf16, 2 ranks, 4 micro-batches", ["hf", LLAMA, "--batch", 1, "--sequence", 256], ["mesh.shard=2", "precision.compute=bf16", "gradient.microbatches=4"]),
    ("Llama, f32, 2 x 2 ranks (hybrid)", ["hf", LLAMA, "--batch", 1, "--sequence", 256], ["mesh.replicate=2", "mesh.shard=2"]),
    ("convolutions, f32, 1 rank", ["zoo", "conv", "--set", "stem=32", "--set", "hidden=32"], []),
]


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def train(plan, steps):
    """Median milliseconds of the second half of the steps, and processor seconds of the run."""
    log = plan.with_suffix(".jsonl")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run("sluice-train", plan, "--data", "random:1", "--steps", steps, "--log", log, "--quiet")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    log.unlink()
    times = [line["step_ms"] for line in lines if "step_ms" in line]
    return statistics.median(times[len(times) // 2:]), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def predict(plan, machine, arguments, settings):
    """Compiles a plan; its predicted milliseconds."""
    model = plan.with_suffix(".mlir")
    run("sluice-import", *arguments, "-o", model)
    run("sluice-compile", model, *[word for setting in settings for word in ("--set", setting)], "-o", plan)
    predicted = json.loads(run("sluice-plan", "simulate", plan, "--machine", machine, "--json"))
    if predicted["step_s"] is None:
        sys.exit(f"unknown: {predicted['unknown']}")
    return predicted["step_s"] * 1e3


def measure(plan, steps):
    """Milliseconds and processor milliseconds of a step."""
    _, few = train(plan, steps // 2)
    measured, many = train(plan, steps)
    ranks = json.loads(run("sluice-plan", "describe", plan, "--json"))["world"]
    cores = min(ranks, len(os.sched_getaffinity(0)))
    return measured, (many - few) / (steps - steps // 2) / cores * 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--machine")
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        machine = options.machine or folder / "cpu.toml"
        if not options.machine:
            run("sluice-plan", "calibrate", "-o", machine)
        plans = [folder / f"{index}.plan" for index in range(len(PLANS))]
        predictions = [predict(plan, machine, *model) for plan, (_, *model) in zip(plans, PLANS)]
        rounds = [[measure(plan, max(6, int(options.seconds * 1e3 / predicted))) for plan, predicted in zip(plans, predictions)] for _ in range(ROUNDS)]
    print("| plan | predicted | measured | processor time | error |\n|---|---|---|---|---|")
    rows = []
    for (title, *_), predicted, runs in zip(PLANS, predictions, zip(*rounds)):
        measured, processor = (min(values) for values in zip(*runs))
        rows.append((title, predicted, measured))
        print(f"| {title} | {predicted:.2f} ms | {measured:.2f} ms | {processor:.2f} ms | {(predicted / measured - 1) * 100:+.1f} % |")
    wrong = [f"{title}: error above 10 %" for title, predicted, measured in rows if abs(predicted / measured - 1) > 0.1]
    for (a, p, m), (b, q, n) in itertools.combinations(rows, 2):
        if max(p, q) > 1.1 * min(p, q) and (p < q) != (m < n):
            wrong.append(f"ranked wrongly: {a}, {b}")
    print("\n".join(wrong) or "all errors are within 10 %, and all pairs are ranked correctly")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
