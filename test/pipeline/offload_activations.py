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


# Three heads over two ranks: activations have padding.
UNEVEN = ["mesh.tensor=2", "sharding.tensor={'*.wq.weight'='column','*.wk.weight'='column','*.wv.weight'='column','*.wo.weight'='row'}"]


@test
def same_bits_with_padding():
    for recipe in ([], ["gradient.microbatches=2"], ["mesh.shard=2", "recompute.policy=block"]):
        model = zoo("transformer", "dropout=0", "tied=false", "dim=12", "heads=3")
        expect_same_bits_with_offload(model, UNEVEN + recipe)


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


def offloaded_units(plan):
    return {event["unit"] for event in plan.description["events"] if event["what"] == "offload"}


@test
def tables_choose_blocks():
    for offload, units in (('memory.offload={"h.0"=["activations"], "h.2"=["activations"]}', {"h.0", "h.2"}),
                           ('memory.offload={"h.*"=["activations"], "h.1"=[]}', {"h.0", "h.2"}),
                           ('memory.offload={"*"=["activations"]}', {"h.0", "h.1", "h.2"})):
        plan = expect_same_bits_with_offload(gpt2_tiny(), TWO, offload)
        # The values of h.3, whose backward is first, stay on the device.
        expect_equal(offloaded_units(plan), units, offload)
    both = 'memory.offload={"h.1"=["optimizer", "activations"], "*"=["optimizer"]}'
    expect_same_bits_with_offload(gpt2_tiny(), TWO, both)


@test
def refusals():
    expect_refused(gpt2_tiny(), ['memory.offload={"g.*"=["activations"]}'], "'g.*' in 'memory.offload' matches no unit or block")
    expect_refused(gpt2_tiny(), ["recompute.policy=budget", "memory.budget=64MiB", ACTIVATIONS],
                   "\"activations\" in 'memory.offload' with 'recompute.policy' = \"budget\" requires the times of a machine", "--machine FILE")


MACHINE = ["--machine", ROOT / "tools" / "machines" / "h100-sxm-80gb.toml"]


@test
def a_budget_chooses_blocks_to_offload():
    """Large rows: the forward and backward of a block take longer than the copies of its values."""
    config = {"model_type": "gpt2", "n_layer": 6, "n_head": 8, "n_embd": 1024, "vocab_size": 512, "n_positions": 1024}
    model = hugging_face(config, 2, 1024)
    settings = ["target.device=cuda", "precision.compute=bf16", "target.arch=sm_90"]
    none = Plan(model, settings)
    budgets = [none.arena()["bytes"] + none.arena()["workspace"] - size * 1000 * 1000 for size in (25, 75)]
    for budget in budgets:
        found = {}
        for offload in ("memory.offload=[]", ACTIVATIONS):
            path = SCRATCH / "decisions.json"
            plan = Plan(model, settings + ["recompute.policy=budget", f"memory.budget={budget}", offload], *MACHINE, "--decisions", path)
            found[offload] = json.loads(path.read_text()), plan
            expect(plan.arena()["bytes"] + plan.arena()["workspace"] <= budget, f"{offload}: bytes over the budget of {budget}")
        decisions, plan = found[ACTIVATIONS]
        chosen = [one["alternatives"][one["choice"]] for one in decisions["decisions"]]
        expect_equal({one["block"] for one, of in zip(decisions["decisions"], chosen) if of["host_bytes"] > 0}, offloaded_units(plan), f"{budget}: blocks")
        expect(decisions["cost"]["s"] <= found["memory.offload=[]"][0]["cost"]["s"], f"{budget}: cost with offload, expected at most "
               f"{found['memory.offload=[]'][0]['cost']} but got {decisions['cost']}")
        expect_equal(sum(one["host_bytes"] for one in chosen), sum(buffer.bytes for buffer in in_host(plan)), f"{budget}: bytes in host memory")
        expect_equal(decisions["decisions"][-1]["alternatives"][decisions["decisions"][-1]["choice"]]["host_bytes"], 0, "bytes of the last block")


main()
