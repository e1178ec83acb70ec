"""The account of PyTorch FSDP1: 24 figures of its memory test (test_fsdp_memory.py), in MiB, and refusals."""

from sluice import *

MIB = 1 << 20
NORMS = ("stem.1", "blocks.1", "blocks.4", "blocks.7")
# Each batch norm is a unit, as are the rest of the stem, of the blocks and the head.
UNITS = "sharding.units={" + ", ".join(f'"{name}"=["{name}"]' for name in NORMS + ("stem", "blocks", "head")) + "}"


def account(path):
    return json.loads(run("sluice-plan", "memory", path, "--account", "fsdp1", "--json").stdout)


def conv(policy):
    model = zoo("conv", "loss=first-row-square")
    return Plan(model, ["mesh.shard=2", "optimizer.name=sgd", "optimizer.momentum=0.9", f"recompute.policy={policy}", UNITS])


@test
def figures_of_the_memory_test():
    for policy, forward in (("none", 340), ("marked", 51)):
        shards = 2
        for point in account(conv(policy).path)["points"]:
            first = point["iteration"] == 0
            expected = {
                "start": shards + 1 if first else 2 * shards + 1,
                "after_forward": forward if first else forward + shards,
                "after_loss": forward if first else forward + shards,
                "after_backward": 2 * shards + 1 if first else 3 * shards + 1,
                "after_update": 3 * shards + 1,
                "end": 2 * shards + 1,
            }[point["name"]]
            expect(abs(point["bytes"] / MIB - expected) <= 1,
                   f"{policy}, iteration {point['iteration']}, {point['name']}: expected {expected} MiB but got {point['bytes'] / MIB}")


main()
