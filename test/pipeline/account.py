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


@test
def other_memory_is_refused():
    tensor = Plan(gpt2_tiny(), ["mesh.tensor=2", "sharding.tensor=megatron"])
    both = Plan(zoo("mlp-sequence"), ["mesh.shard=2"])
    for plan, error in ((tensor, "the account of FSDP1 has no mesh axis 'tensor'\nnote: compile for the axes 'replicate' and 'shard'"),
                        (both, "the account of FSDP1 is of plans with one entry point that trains, expected 1 but got 2")):
        done = try_run("sluice-plan", "memory", plan.path, "--account", "fsdp1")
        expect_equal((done.returncode, done.stderr.strip()), (1, f"error: {error}"), "refusal")


@test
def peak_is_within_an_iteration():
    """At the peak of the memory test all activations and the gradients of two are live."""
    for policy, least in (("none", 340), ("marked", 289)):
        found = account(conv(policy).path)
        expect(least * MIB <= found["peak"] <= 1.5 * (340 + 7) * MIB, f"{policy}: expected a peak above {least} MiB but got {found['peak'] / MIB}")
        expect(found["peak"] > max(point["bytes"] for point in found["points"]), f"{policy}: expected a peak above all points")


main()
