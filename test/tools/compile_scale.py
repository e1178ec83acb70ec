"""compile_scale.py: Llama 3.1 8B and 405B, imported and compiled for many ranks, within bounds of time and memory;
405B within a budget, which compiles few plans, and in an arena close to its live bytes; and GPT-2 of 50 and of 200
blocks, whose time and memory may grow as the blocks do and not as their square.

The time is the processor's, of both programs together: it does not depend on the load of the machine.
Memory is the larger of their high-water marks. The script prints a table of the measurements.
"""

import json
import os
import re
import subprocess
import sys

from sluice import set_options

LLAMA = {
    "model_type": "llama", "vocab_size": 128256, "num_key_value_heads": 8, "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "rope_theta": 500000.0,
    "rope_scaling": {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "rope_type": "llama3",
                     "original_max_position_embeddings": 8192},
}
MODELS = {
    # name: config, ranks, seconds, GiB
    "8B": ({"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32}, 128, 3, 3),
    "405B": ({"hidden_size": 16384, "intermediate_size": 53248, "num_hidden_layers": 126, "num_attention_heads": 128},
             16384, 15, 3),
}


def run(*words):
    """Processor seconds and the largest resident set in bytes."""
    process = subprocess.Popen(words)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(words)}: exit {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


# Ranks along each axis over which parameters are sharded.
MESHES = {"shard": ["mesh.shard=4"], "tensor": ["mesh.tensor=2", 'sharding.tensor="megatron"']}


def costs_of(blocks):
    """Seconds and bytes of compiling so many blocks, by mesh."""
    config = {"model_type": "gpt2", "n_layer": blocks, "n_embd": 64, "n_head": 4, "vocab_size": 256, "n_positions": 64}
    with open("deep.json", "w") as file:
        json.dump(config, file)
    run("sluice-import", "hf", "deep.json", "--batch", "2", "--sequence", "16", "-o", "deep.mlir")
    costs = {}
    for mesh, recipe in MESHES.items():
        costs[mesh] = run("sluice-compile", "deep.mlir", *set_options(recipe), "-o", "deep.plan")
        print(f"{blocks} blocks, {mesh}: compile {costs[mesh][0]:.2f} s {costs[mesh][1] / 2**20:.0f} MiB")
    return costs


def grows_as_blocks():
    """Four times the blocks need at most six times the time and memory; quadratic growth would be sixteen times. The minimum of up to three
    measurements counts."""
    least, beyond = {}, []
    for _ in range(3):
        for blocks in (50, 200):
            for mesh, cost in costs_of(blocks).items():
                least[mesh, blocks] = tuple(map(min, cost, least.get((mesh, blocks), cost)))
        beyond = [(mesh, what, many / few) for mesh in MESHES
                  for what, few, many in zip(("seconds", "bytes"), least[mesh, 50], least[mesh, 200]) if many > 6 * few]
        if not beyond:
            return True
    for mesh, what, times in beyond:
        print(f"200 blocks, {mesh}: expected at most 6 times the {what} of 50 but got {times:.1f} times")
    return False


def chooses_in_few_plans():
    """405B within a budget that gaps between buffers exceed at first: the plan without recompute, one over the budget, and the choice."""
    time, memory = run("sluice-compile", "405B.mlir", *set_options(
        ["mesh.shard=16384", "precision.compute=bf16", "target.device=cuda", "recompute.policy=budget", "memory.budget=110GiB"]),
        "--decisions", "decisions.json", "-o", "405B.plan")
    with open("decisions.json") as file:
        plans = json.load(file)["plans"]
    print(f"405B within a budget: {plans} plans, {time:.2f} s {memory / 2**20:.0f} MiB")
    if plans <= 3 and memory <= 2 * 2**30:
        return True
    print("405B within a budget: expected at most 3 plans and 2 GiB")
    return False


def places_close_to_live_bytes(plan):
    """The gradients of 405B take 3.5 GB each, and are live with those of the next block."""
    text = subprocess.run(["sluice-plan", "memory", plan], capture_output=True, text=True, check=True).stdout
    arena, live = map(int, re.search(r"^ *device +arena (\d+) .*live at most (\d+)", text, re.MULTILINE).groups())
    print(f"{plan}: arena {arena / live:.4f} times the live bytes")
    if arena <= live * 1.002:
        return True
    print(f"{plan}: expected an arena of at most 1.002 times the live bytes")
    return False


def main():
    failed = False
    for name, (sizes, ranks, seconds, gibibytes) in MODELS.items():
        with open(f"{name}.json", "w") as file:
            json.dump(LLAMA | sizes, file)
        imported = run("sluice-import", "hf", f"{name}.json", "--batch", "1", "--sequence", "8192", "-o", f"{name}.mlir")
        compiled = run("sluice-compile", f"{name}.mlir",
                       *set_options([f"mesh.shard={ranks}", "recompute.policy=block", "precision.compute=bf16"]), "-o", f"{name}.plan")
        time, memory = imported[0] + compiled[0], max(imported[1], compiled[1])
        print(f"{name} on {ranks} ranks: import {imported[0]:.2f} s {imported[1] / 2**20:.0f} MiB, compile {compiled[0]:.2f} s "
              f"{compiled[1] / 2**20:.0f} MiB, plan {os.path.getsize(f'{name}.plan') / 1e6:.1f} MB")
        run("sluice-plan", "memory", f"{name}.plan", "--html", f"{name}.html")
        page = os.path.getsize(f"{name}.html") / 1e6
        print(f"{name}: page of {page:.1f} MB")
        if page > 10:
            print(f"{name}: expected a page of at most 10 MB")
            failed = True
        if time > seconds or memory > gibibytes * 2**30:
            print(f"{name}: expected at most {seconds} s and {gibibytes} GiB but got {time:.2f} s and {memory / 2**30:.2f} GiB")
            failed = True
        failed |= not places_close_to_live_bytes(f"{name}.plan")
    run("sluice-compile", "405B.mlir", *set_options(["mesh.shard=1024", "recompute.policy=block", "precision.compute=bf16"]),
        "-o", "405B-1024.plan")
    failed |= not places_close_to_live_bytes("405B-1024.plan")
    failed |= not chooses_in_few_plans()
    failed |= not grows_as_blocks()
    if not failed:
        print("within bounds")
    sys.exit(failed)


if __name__ == "__main__":
    main()
