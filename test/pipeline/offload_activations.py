"""Activations in host memory: the bits of the plan without offload, a fixed number of blocks' activations on the device, and
the measured bytes of both memory spaces are the predicted ones."""

from sluice import *

ACTIVATIONS = 'memory.offload=["activations"]'
ALL = 'memory.offload=["parameters", "optimizer", "activations"]'
TWO = ["mesh.shard=2"]


def expect_same_bits_with_offload(model, recipe, offload=ACTIVATIONS, steps=2, copies=True):
    """The losses and weights of the plan without offload; at least one activation is copied."""
    wanted = train(Plan(model, recipe), steps=steps)
    plan = Plan(model, recipe + [offload])
    found = train(plan, steps=steps)
    expect_same_bits(found, wanted, f"{recipe}, {offload}", norm="optimizer.in_backward=true" not in recipe)
    expect_equal(bool(in_host(plan)), copies, f"{recipe}, {offload}: whether activations are copied")
    for space in ("device", "host"):
        arena = plan.arena(space)
        expect_equal(found.summary["measured_peak"][space], arena["bytes"] + arena["workspace"], f"{recipe}, {offload}: bytes in {space} memory")
    return plan


def in_host(plan):
    return [buffer for buffer in plan.buffers() if buffer.space == "host" and buffer.kind == "activation"]


def most_live(plan, classes=None):
    timeline = MemoryTimeline(plan)
    return max(timeline.at(i, classes) for i in range(len(timeline.phases)))


@test
def same_bits_for_every_mesh_and_recompute_policy():
    for mesh in ([], TWO, ["mesh.replicate=2", "mesh.shard=2"], ["mesh.replicate=2"], ["mesh.shard=3"]):
        for policy in ("none", "block", "selective"):
            expect_same_bits_with_offload(gpt2_tiny(), mesh + [f"recompute.policy={policy}"])


@test
def same_bits_for_other_settings():
    for recipe in (["precision.compute=bf16"], ["precision.compute=f16", "precision.loss_scale=dynamic"], ["gradient.microbatches=3"],
                   ["gradient.microbatches=3", "recompute.policy=block", "gradient.sync=every"], ["gradient.clip_norm=0.5"],
                   ["gradient.microbatches=3", "gradient.sync=[true, false, true]"], ["optimizer.in_backward=true"],
                   ["sharding.units=root"], ["sharding.reshard_after_forward=false"], ["sharding.strategy=no_shard"],
                   ["schedule.backward_prefetch=none"], ["schedule.backward_prefetch=2"], ["schedule.backward_prefetch=post"],
                   ["schedule.forward_prefetch=0"], ["loss.chunk_rows=8"], ["memory.pinned=false"]):
        expect_same_bits_with_offload(gpt2_tiny(), TWO + recipe)
    expect_same_bits_with_offload(gpt2_tiny(), ["mesh.shard=2", "mesh.tensor=2", "sharding.tensor=megatron", "sharding.sequence=true"])
    expect_same_bits_with_offload(gpt2_tiny(), ['recompute.policy={"h.1"="block", "*"="none"}'])


@test
def same_bits_with_other_offloads():
    for recipe in ([], TWO, TWO + ["gradient.microbatches=2", "recompute.policy=block"], TWO + ["precision.compute=bf16"]):
        expect_same_bits_with_offload(gpt2_tiny(), recipe, ALL)
        expect_same_bits_with_offload(gpt2_tiny(), recipe, 'memory.offload=["optimizer", "activations"]')
        expect_same_bits_with_offload(gpt2_tiny(), recipe, 'memory.offload=["parameters", "activations"]')


@test
def same_bits_for_other_models():
    expect_same_bits_with_offload(hugging_face("llama-tiny", 2, 16), TWO)
    expect_same_bits_with_offload(zoo("transformer", "layers=3", "dim=64"), TWO)
    # Dropout, a block that is called twice, blocks inside blocks, two backward passes, an encoder that several blocks read.
    expect_same_bits_with_offload(zoo("transformer", "layers=3", "dim=64", "dropout=0.1"), TWO)
    for name in ("multi-forward", "nested-recompute", "two-forwards", "two-losses", "encoder-decoder", "shared-linear", "conv", "moe"):
        plan = Plan(zoo(name), TWO + [ACTIVATIONS])
        expect_same_bits_with_offload(zoo(name), TWO, copies=bool(in_host(plan)))


@test
def device_holds_the_activations_of_a_fixed_number_of_blocks():
    for policy in ("none", "block"):
        held, peaks = {}, {}
        for layers, offload in itertools.product((6, 12), ("memory.offload=[]", ACTIVATIONS)):
            plan = Plan(zoo("transformer", f"layers={layers}", "dim=64", "dropout=0", "batch=32"), [f"recompute.policy={policy}", offload])
            held[layers, offload], peaks[layers, offload] = most_live(plan, {"activation"}), most_live(plan)
        grows = held[12, "memory.offload=[]"] - held[6, "memory.offload=[]"]
        # Without offload the activations of each block are live, with it those of three at most.
        expect(grows > 0 and held[12, ACTIVATIONS] == held[6, ACTIVATIONS], f"{policy}: most bytes of activations of 6 and 12 blocks: {held}")
        if policy == "none":
            expect(peaks[12, ACTIVATIONS] < peaks[12, "memory.offload=[]"] / 2, f"{policy}: most live bytes of 6 and 12 blocks: {peaks}")


main()
