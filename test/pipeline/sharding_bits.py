"""Trains one model by many recipes on one mesh; exits with 1 where losses, norms or weights differ from the first's by a bit."""

import json
import os
import subprocess
import sys

MODEL, SCRATCH = sys.argv[1:3]


def train(settings):
    plan, log, saved = SCRATCH + ".plan", SCRATCH + ".jsonl", SCRATCH + ".saved"
    command = ["sluice-compile", MODEL, "-o", plan]
    for setting in settings:
        command += ["--set", setting]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["sluice-plan", "check", plan], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["sluice-train", plan, "--data", "random:3", "--steps", "3", "--log", log, "--save", saved],
                   check=True, stdout=subprocess.DEVNULL)
    steps = [json.loads(line) for line in open(log)]
    with open(os.path.join(saved, "model.safetensors"), "rb") as weights:
        return [(s["loss"], s["grad_norm"]) for s in steps if "loss" in s], weights.read()


def same(mesh, recipes):
    expected = train(mesh)
    for recipe in recipes:
        if train(mesh + recipe) != expected:
            print(f"{mesh + recipe}: expected the bits of {mesh} but got others", file=sys.stderr)
            problems.append(recipe)


problems = []
keep = "sharding.reshard_after_forward=false"
residency = [
    ["sharding.reshard_after_forward=true"], ["sharding.reshard_after_forward=2"], [keep],
    ["sharding.reshard_after_forward=2", "recompute.policy=block"],
    ["sharding.reshard_after_forward=2", "schedule.backward_prefetch=2"],
    [keep, "sharding.reshard_before_backward=true"], [keep, "sharding.reshard_after_backward=last"],
    ["schedule.backward_prefetch=post"], ['schedule.forward_prefetch={root=["h.1", "h.0"]}'],
    ['sharding.units={a=["h.0", "h.1"], e=["wpe.*"], none=[]}'], ["sharding.units=bytes:60000"],
]
same(["mesh.shard=4", "gradient.microbatches=2"], residency)
same(["mesh.shard=4", "gradient.microbatches=2", "precision.compute=bf16"], residency[1:4] + residency[6:7])
# A world that divides nothing evenly.
same(["mesh.shard=6"], [["sharding.reshard_after_forward=2"], ["sharding.reshard_after_forward=3"]])
sys.exit(1 if problems else 0)
