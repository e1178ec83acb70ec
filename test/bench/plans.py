#!/usr/bin/env python3
"""Launches, bytes and flops of the kernels of the two benchmark plans for a GPU, and the least time of each on an H200. No GPU is needed.

  test/bench/plans.py FOLDER              compiles both plans in FOLDER and prints a table of each
  test/bench/plans.py FOLDER --check      compares their launches, casts, bytes and flops with MOST; rows of products in half precision
                                          must begin at multiples of 16 bytes

Bytes are those of the operands, each once; of a table with rows by index only as many rows as there are indices. A product of m x k and k x n has 2 m k n
flops; causal attention half of two products forward, and of seven backward (Sluice's kernel computes the scores twice). Other kernels are limited by memory.
The least time of a kernel is the longer of both at the rates of tools/machines/h200-sxm-141gb.toml.
"""
import math
import os
import re
import subprocess
import sys
import tomllib

ROOT = os.environ.get("SLUICE_ROOT") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SETTINGS = ["target.device=cuda", "precision.compute=bf16", "gradient.clip_norm=1.0", "sharding.reshard_after_forward=false"]
# Name, rows, tokens of a row, further settings, goal in milliseconds.
MODELS = [("gpt2-124m", 32, 1024, [], 58.0), ("llama-7b", 2, 4096, ["recompute.policy=block"], 8192 / 11500 * 1e3)]
# Launches, casts among them, bytes and gigaflops of a step. They may only decrease: write the new numbers here.
MOST = {"gpt2-124m": (281, 13, 76902217998, 27070.5), "llama-7b": (1423, 33, 649662423650, 455593.0)}
BYTES = {"f32": 4, "f64": 8, "bf16": 2, "f16": 2, "i32": 4, "i64": 8, "u8": 1}
OPERAND = re.compile(r"%[^:]*:(\w+)\[([\dx]*)\](?: strides\[([\d, ]*)\])?")
LAUNCH = re.compile(r"^ +\d+ [^(]*: (\w+)\((.*?)\) -> (.*?)(?: \{(.*?)\})?(?: workspace \d+)?(?: loc\(.*\))?$")


def compiled(folder, name, rows, tokens, settings):
    model, plan = (os.path.join(folder, f"{name}.{end}") for end in ("mlir", "plan"))
    config = os.path.join(ROOT, "test/bench/models", f"{name}.json")
    subprocess.run(["sluice-import", "hf", config, "--train-only", "--batch", str(rows), "--sequence", str(tokens), "-o", model], check=True)
    recipe = os.path.join(folder, "empty.toml")
    open(recipe, "w").close()
    sets = [word for setting in SETTINGS + settings for word in ("--set", setting)]
    subprocess.run(["sluice-compile", model, "--recipe", recipe, *sets, "-o", plan], check=True, capture_output=True)
    return subprocess.run(["sluice-plan", "print", plan], check=True, capture_output=True, text=True).stdout


def operands(text):
    """(type, shape, elements from row to row) of each operand; one row if it has fewer than two dims."""
    found = []
    for dtype, shape, strides in OPERAND.findall(text):
        shape = [int(n) for n in shape.split("x")] if shape else []
        pitch = 0 if len(shape) < 2 else int(strides.split(",")[-2]) if strides else shape[-1]
        found.append((dtype, shape, pitch))
    return found


def size(operand):
    return BYTES[operand[0]] * math.prod(operand[1])


def flops(kernel, inputs, outputs, attributes):
    if kernel.startswith("matmul"):
        k = inputs[0][1][-2 if "transpose_a = 1" in attributes else -1]
        return 2 * k * math.prod(outputs[0][1])
    if kernel.startswith("attention"):
        batch, queries, heads, width = inputs[0][1]
        keys = inputs[1 if kernel == "attention" else 2][1][1]
        product = 2 * batch * heads * queries * keys * width
        return product * (2 if kernel == "attention" else 7) // (2 if "causal = 1" in attributes else 1)
    return 0


def moved(kernel, inputs, outputs):
    if kernel in ("embedding", "gather"):
        return size(inputs[1]) + 2 * size(outputs[0])
    if kernel == "embedding_grad" and len(inputs) == 3:
        rows = BYTES[outputs[0][0]] * math.prod(inputs[0][1])
        return size(inputs[0]) + size(inputs[1]) + 2 * min(rows, size(outputs[0]))
    return sum(map(size, inputs + outputs))


def misaligned(text):
    """The launches of products in half precision with an operand whose rows do not all begin at multiples of 16 bytes."""
    return [match.group(0).strip() for line in text.split("\n") if (match := LAUNCH.match(line)) and match.group(1).startswith("matmul")
            and any(BYTES[dtype] == 2 and pitch * 2 % 16 != 0 for dtype, _, pitch in operands(match.group(2) + match.group(3)))]


def launches(text):
    """(kernel, bytes, flops) of each launch of a train step."""
    step = text.split("\nentry train_step")[1].split("\nentry ")[0]
    found = []
    for line in step.split("\n"):
        match = LAUNCH.match(line)
        if match:
            kernel, left, right, attributes = match.groups()
            inputs, outputs = operands(left), operands(right)
            found.append((kernel, moved(kernel, inputs, outputs), flops(kernel, inputs, outputs, attributes or "")))
    return found


def rates():
    with open(os.path.join(ROOT, "tools/machines/h200-sxm-141gb.toml"), "rb") as file:
        figures = tomllib.load(file)["figures"]
    return figures["memory_bytes_per_second"]["value"], figures["bf16_flops_per_second"]["value"]


def table(name, rows, tokens, found, goal):
    memory, peak = rates()
    kernels = {}
    for kernel, bytes_, operations in found:
        row = kernels.setdefault(kernel, [0, 0, 0, 0.0])
        for i, value in enumerate((1, bytes_, operations, max(bytes_ / memory, operations / peak) * 1e3)):
            row[i] += value
    lines = [f"`{name}`, {rows} x {tokens:,} tokens:", "", "| kernel | launches | MB | GFLOP | least time, ms |", "|---|---|---|---|---|"]
    total = [sum(row[i] for row in kernels.values()) for i in range(4)]
    ordered = sorted(kernels.items(), key=lambda item: (-item[1][3], item[0]))
    for kernel, row in ordered + [("sum", total)]:
        title = kernel if kernel == "sum" else f"`{kernel}`"
        lines.append(f"| {title} | {row[0]:,} | {row[1] / 1e6:,.1f} | {row[2] / 1e9:,.1f} | {row[3]:,.3f} |")
    lines.append(f"| goal | | | | {goal:,.0f} |")
    return "\n".join(lines)


def main():
    folder, check = sys.argv[1], "--check" in sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    wrong = []
    for name, rows, tokens, settings, goal in MODELS:
        plan = compiled(folder, name, rows, tokens, settings)
        found = launches(plan)
        wrong += [f"{name}: rows that do not begin at multiples of 16 bytes: {launch}" for launch in misaligned(plan)]
        counts = (len(found), sum(kernel == "cast" for kernel, _, _ in found), sum(bytes_ for _, bytes_, _ in found),
                  round(sum(operations for _, _, operations in found) / 1e9, 1))
        if not check:
            print(table(name, rows, tokens, found, goal) + "\n")
        print(f"{name}: {counts[0]} launches, {counts[1]} casts, {counts[2]} bytes, {counts[3]} GFLOP")
        if not check:
            continue
        if counts != MOST[name]:
            larger = any(now > most for now, most in zip(counts, MOST[name]))
            wrong.append(f"{name}: launches, casts, bytes and gigaflops, expected {MOST[name]} but got {counts}"
                         + ("" if larger else "; they have decreased: write them to MOST in test/bench/plans.py"))
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
