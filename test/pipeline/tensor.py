"""Compiles models for meshes with a tensor axis and trains them; exits with 1 where losses, norms or weights differ from
those of the mesh without it, where a step has other collectives over the axis than Megatron-LM, or where an impossible
sharding is not refused with its line.

Per MLP (column, then row): one all_reduce forward; one backward, except for the first, whose input has no gradient. Per
transformer layer two and two. The vocabulary: one after the embedding, three in the loss (largest, sum of exponentials,
target's logit), one after the output's backward. The norm: one.
"""

import array
import collections
import json
import os
import shutil
import subprocess
import sys

MLP, GPT2, LLAMA, SCRATCH = sys.argv[1:5]
problems = []


def compile_plan(model, settings):
    command = ["sluice-compile", model, "-o", SCRATCH + ".plan"]
    for setting in settings:
        command += ["--set", setting]
    return subprocess.run(command, capture_output=True, text=True)


def weights_of(folder):
    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header, data = json.loads(file.read(size)), file.read()
    values = {}
    for name, entry in header.items():
        if name != "__metadata__":
            values[name] = array.array("f", data[slice(*entry["data_offsets"])])
    return values


def train(model, settings, steps=3, init=None):
    made = compile_plan(model, settings)
    assert made.returncode == 0, f"{settings}: {made.stderr}"
    plan, log, saved = SCRATCH + ".plan", SCRATCH + ".jsonl", SCRATCH + ".saved"
    checked = subprocess.run(["sluice-plan", "check", plan], capture_output=True, text=True)
    assert checked.returncode == 0, f"{settings}: {checked.stderr}"
    command = ["sluice-train", plan, "--data", "random:3", "--steps", str(steps), "--log", log, "--save", saved]
    ran = subprocess.run(command + (["--init", init] if init else []), capture_output=True, text=True)
    assert ran.returncode == 0, f"{settings}: {ran.stderr}"
    described = json.loads(subprocess.run(["sluice-plan", "describe", plan, "--json"], capture_output=True).stdout)
    rows = [json.loads(line) for line in open(log)]
    return [(row["loss"], row["grad_norm"]) for row in rows if "loss" in row], weights_of(saved), described


def near(a, b, tolerance):
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


def compare(what, expected, got, tolerance):
    for step, (a, b) in enumerate(zip(expected[0], got[0])):
        if not (near(a[0], b[0], tolerance) and near(a[1], b[1], tolerance)):
            problems.append(f"{what}: loss and norm of step {step}, expected {a} but got {b}")
    for name, values in expected[1].items():
        others = got[1][name]
        worst = max(map(lambda pair: abs(pair[0] - pair[1]), zip(values, others)))
        if len(values) != len(others) or not worst <= tolerance * 10:
            problems.append(f"{what}: weight {name}, expected the same but got a difference of {worst}")


def over_tensor(described, entry="train_step"):
    return collections.Counter((c["phase"], c["kind"]) for c in described["collectives"]
                               if c["entry"] == entry and c["axis"] == "tensor")


def expect_counts(what, described, entry="train_step", **phases):
    found = over_tensor(described, entry)
    wanted = collections.Counter({(phase, "all_reduce"): count for phase, count in phases.items() if count})
    if found != wanted:
        problems.append(f"{what}: collectives over the axis tensor, expected {dict(wanted)} but got {dict(found)}")


def refuse(model, settings, *texts):
    made = compile_plan(model, settings)
    if made.returncode != 1 or any(text not in made.stderr for text in texts):
        problems.append(f"{settings}: expected exit code 1 and {texts} but got {made.returncode} and {made.stderr}")


SGD = ["optimizer.name=sgd", "optimizer.lr=0.01"]
COLUMN_ROW = ['sharding.tensor={"*.in_proj.*"="column", "*.out_proj.*"="row"}']
MEGATRON = ["sharding.tensor=megatron"]

# The initial weights do not depend on the mesh: not by a bit.
for mesh in (["mesh.tensor=2"], ["mesh.shard=2", "mesh.tensor=2"], ["mesh.shard=3", "mesh.tensor=2"]):
    for model, split in ((MLP, COLUMN_ROW), (GPT2, MEGATRON), (LLAMA, MEGATRON)):
        ours = train(model, mesh + split + ["optimizer.name=sgd", "optimizer.lr=0"], steps=1)
        theirs = train(model, ["optimizer.name=sgd", "optimizer.lr=0"], steps=1)
        if ours[1] != theirs[1]:
            problems.append(f"{mesh}, {model}: expected the initial weights of one rank but got others")

for data in ([], ["mesh.shard=2"], ["mesh.replicate=2", "mesh.shard=2"]):
    for tensor in ((2, 4) if not data else (2,)):
        mesh = data + [f"mesh.tensor={tensor}"]
        for more in ([], ["gradient.microbatches=2", "gradient.clip_norm=0.5"]):
            expected = train(MLP, data + SGD + more)
            got = train(MLP, mesh + COLUMN_ROW + SGD + more)
            compare(f"mlp {mesh + more}", expected, got, 1e-5)
            repeat = 2 if more else 1
            expect_counts(f"mlp {mesh + more}", got[2], forward=3 * repeat, backward=2 * repeat, update=1)
        for model in (GPT2, LLAMA):
            # With two heads of keys the collectives are others: tensor_heads.py.
            if model == LLAMA and tensor == 4:
                continue
            expected = train(model, data)
            got = train(model, mesh + MEGATRON)
            compare(f"{model} {mesh}", expected, got, 2e-5)
            layers = len(got[2]["units"]) - 1
            found = over_tensor(got[2])
            total = sum(found.values())
            if total != 1 + 2 * layers + 3 + 1 + 2 * layers + 1 or any(kind != "all_reduce" for _, kind in found):
                problems.append(f"{model} {mesh}: collectives over the axis tensor, got {dict(found)}")

# Shardings that Megatron-LM does not have: replicated values are sliced and shards gathered where rules require it.
for data in ([], ["mesh.shard=2"]):
    expected = train(MLP, data + SGD)
    for split in ('{"*.in_proj.weight"="column", "*.out_proj.weight"="row"}', '{"*.in_proj.*"="column"}',
                  '{"*.out_proj.weight"="row"}', '{"*.out_proj.*"="column"}', '{"0.in_proj.*"="row"}'):
        got = train(MLP, data + ["mesh.tensor=2", "sharding.tensor=" + split] + SGD)
        compare(f"{data} {split}", expected, got, 1e-5)
expected = train(GPT2, ["mesh.shard=2"])
for split in ('{"wte.weight"="column"}', '{"*.c_attn.weight"="column"}'):
    compare(split, expected, train(GPT2, ["mesh.shard=2", "mesh.tensor=2", "sharding.tensor=" + split]), 2e-5)

# Norms of other p; recompute; bf16.
for clip in (["gradient.clip_type=1"], ["gradient.clip_type=3"], ["gradient.clip_type=inf"]):
    settings = clip + ["gradient.clip_norm=0.1"]
    compare(f"norm {clip}", train(GPT2, ["mesh.shard=2"] + settings),
            train(GPT2, ["mesh.shard=2", "mesh.tensor=2"] + MEGATRON + settings), 2e-5)
compare("recompute", train(GPT2, ["recompute.policy=block"]),
        train(GPT2, ["mesh.tensor=2", "recompute.policy=block"] + MEGATRON), 2e-5)
compare("bf16", train(LLAMA, ["precision.compute=bf16"], steps=1),
        train(LLAMA, ["mesh.tensor=2", "precision.compute=bf16"] + MEGATRON, steps=1), 3e-2)

# Saved weights are read again by another mesh.
first = train(GPT2, ["mesh.shard=2", "mesh.tensor=2"] + MEGATRON)
shutil.rmtree(SCRATCH + ".first", ignore_errors=True)
os.rename(SCRATCH + ".saved", SCRATCH + ".first")
again = train(GPT2, ["mesh.tensor=4", "optimizer.name=sgd", "optimizer.lr=0"] + MEGATRON, steps=1, init=SCRATCH + ".first")
if again[1] != first[1]:
    problems.append("expected the saved weights on another mesh but got others")

# An axis of one rank changes nothing.
for model, split in ((MLP, COLUMN_ROW), (GPT2, MEGATRON)):
    compile_plan(model, ["mesh.shard=2"])
    without = open(SCRATCH + ".plan", "rb").read()
    made = compile_plan(model, ["mesh.shard=2", "mesh.tensor=1"])
    if open(SCRATCH + ".plan", "rb").read() != without:
        problems.append("mesh.tensor=1: the plan differs from the one without it")
    made = compile_plan(model, ["mesh.shard=2"] + split)
    if "remark: " not in made.stderr or "'sharding.tensor' has no effect where 'mesh.tensor' is 1" not in made.stderr:
        problems.append(f"expected a remark on a split over one rank but got {made.stderr}")

made = compile_plan(MLP, ["mesh.tensor=2"] + COLUMN_ROW)
lines = made.stderr.splitlines()
if not lines or any("remark: " not in line for line in lines) or "all_reduce over 'tensor': model.matmul" not in made.stderr:
    problems.append(f"expected a remark that names the rule but got {made.stderr}")

refuse(MLP, ["mesh.tensor=2"] + MEGATRON, "sharding.tensor", "value of 'sharding.tensor' shards no parameter of the model")
refuse(MLP, ["mesh.tensor=2", "sharding.tensor=column"], "expected a table by parameter glob or 'megatron'")
refuse(MLP, ["mesh.tensor=2", 'sharding.tensor={"*.nothing"="column"}'], "sharding.tensor")
refuse(GPT2, ["mesh.tensor=2", 'sharding.tensor={"h.0.mlp.c_fc.bias"="megatron"}'], "expected column, row or replicated but got megatron")
refuse(GPT2, ["mesh.tensor=2", 'sharding.tensor={"ln_f.*"="row", "wpe.weight"="row"}'], "wpe.weight", "no product and no embedding reads it")

for problem in problems:
    print(problem, file=sys.stderr)
sys.exit(1 if problems else 0)
