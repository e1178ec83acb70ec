"""Checkpoints of each mesh in plans of other meshes: every tensor has the bits of the unsharded state, in memory and in the files.

A run of one rank trains two steps. Every other plan continues from a checkpoint without a step and writes its state again, so that each file was
written from the memory of that plan. The files are read here by PyTorch's metadata: the offsets of each part.
"""

# REQUIRES: compiler

import shutil

from checkpoint import read_checkpoint
from sluice import *

STEP = 2
EXPERT = ("mesh.expert=2", "sharding.expert=['*.experts.*']")
TENSOR = ("mesh.tensor=2", "sharding.tensor={'*.in_proj.*' = 'column', '*.out_proj.*' = 'row'}")
LAYOUTS = {
    "shard-2": ("mesh.shard=2", "gradient.microbatches=2"),
    "shard-3": ("mesh.shard=3", "sharding.strategy=shard_grad_op"),
    "shard-4": ("mesh.shard=4", "sharding.units=root"),
    "shard-5": ("mesh.shard=5", "precision.compute=bf16"),
    "replicated": ("mesh.shard=2", "sharding.strategy=no_shard"),
    "hybrid": ("mesh.replicate=2", "mesh.shard=3"),
    "largest-16": ("mesh.shard=16", "sharding.dim=largest"),
    "flat": ("mesh.shard=3", "sharding.dim=flat"),
    "tensor": (*TENSOR, "mesh.shard=2"),
    "hybrid-tensor": (*TENSOR, "mesh.replicate=2", "mesh.shard=2"),
    "expert": (*EXPERT, "mesh.shard=2"),
    "expert-tensor-flat": (*EXPERT, "mesh.shard=2", "mesh.replicate=2", "sharding.dim=flat"),
    "host-memory": ("mesh.shard=3", 'memory.offload=["parameters", "optimizer"]'),
}
# The distances between two layouts of a pair in the table, and how many pairs have them.
PAIRS = {1: 13, 5: 13, 7: 6}


def continue_in(plan, checkpoint, name):
    """The checkpoint that a run of the plan writes of what it has loaded."""
    folder = SCRATCH / name
    shutil.rmtree(folder, ignore_errors=True)
    run("sluice-train", plan.path, "--data", "random:1", "--steps", STEP, "--quiet", "--resume", checkpoint, "--checkpoint", folder)
    return folder / f"step-{STEP:08}"


@test
def thirty_pairs_of_meshes():
    model, folder = zoo("moe", "batch=4"), SCRATCH / "unsharded"
    shutil.rmtree(folder, ignore_errors=True)
    run("sluice-train", Plan(model, ()).path, "--data", "random:1", "--steps", STEP, "--quiet", "--checkpoint", folder)
    unsharded = folder / f"step-{STEP:08}"
    wanted = read_checkpoint(unsharded)
    expect(any(name.endswith(".exp_avg_sq") and any(data) for name, data in wanted.items()), "expected optimizer states that are not zero")
    plans = {name: Plan(model, settings) for name, settings in LAYOUTS.items()}
    names, pairs = list(plans), set()
    saved = {name: continue_in(plan, unsharded, name) for name, plan in plans.items()}
    for name, checkpoint in saved.items():
        expect(read_checkpoint(checkpoint) == wanted, f"{name}: expected the unsharded state but got {differences(read_checkpoint(checkpoint), wanted)}")
    for distance, count in PAIRS.items():
        for i in range(count):
            first, second = names[i], names[(i + distance) % len(names)]
            pairs.add((first, second))
            found = read_checkpoint(continue_in(plans[second], saved[first], f"{first}-{second}"))
            expect(found == wanted, f"{first} to {second}: expected the unsharded state but got {differences(found, wanted)}")
    expect(len(pairs) >= 30, f"expected 30 pairs but got {len(pairs)}")
    # The gathered state of all ranks.
    run("sluice-checkpoint", "export", saved["hybrid-tensor"], SCRATCH / "full")
    data = (SCRATCH / "full" / "model.safetensors").read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    full = {name: data[8 + length + entry["data_offsets"][0]:8 + length + entry["data_offsets"][1]]
            for name, entry in json.loads(data[8:8 + length]).items() if name != "__metadata__"}
    expect(full == {name: data for name, data in wanted.items() if not name.startswith("optimizer.state.")},
           f"export: expected the unsharded parameters but got {sorted(full)}")


def differences(found, wanted):
    return [name for name in sorted(found.keys() | wanted.keys()) if found.get(name) != wanted.get(name)]


main(no_empty_loops=True)
