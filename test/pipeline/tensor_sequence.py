"""`sharding.sequence`: between layers, values are sharded along the sequence over the tensor axis.

Per layer, attention and feed-forward each have two of both kinds: forward, an all_gather before the column-sharded product
and a reduce_scatter after the row-sharded one; backward, an all_gather of the cotangent, one of the input
of the column-sharded product (the gathered input is not kept), and a reduce_scatter."""

from sluice import *

MEGATRON = "sharding.tensor=megatron"
SEQUENCE = "sharding.sequence=true"


@test
def parity():
    for model, name in ((gpt2_tiny(), "gpt2"), (hugging_face("llama-tiny"), "llama")):
        for data in ([], ["mesh.shard=2"]):
            for more in ([], ["recompute.policy=block", "gradient.clip_norm=0.5", "gradient.microbatches=2"]):
                expect_near_runs(train(Plan(model, data + ["mesh.tensor=2", MEGATRON, SEQUENCE] + more)), train(Plan(model, data + more)),
                                 2e-5, f"{name} {data + more}", weights=2e-4)


@test
def uneven_sequences():
    model = gpt2_tiny(sequence=15)
    expect_near_runs(train(Plan(model, ["mesh.tensor=2", MEGATRON, SEQUENCE])), train(Plan(model, [])), 2e-5, "15 over 2", weights=2e-4)


@test
def dropout_by_position():
    model = hugging_face("gpt2-tiny", 2, 16, "--dropout", 0.1)
    expect_near_runs(train(Plan(model, ["mesh.tensor=2", MEGATRON, SEQUENCE])), train(Plan(model, [])), 2e-5, "dropout", weights=2e-4)


@test
def collectives():
    plan = Plan(gpt2_tiny(), ["mesh.tensor=2", MEGATRON, SEQUENCE])
    layers = len(plan.units()) - 1
    found = collections.Counter((c["phase"], c["kind"]) for c in plan.collectives() if c["axis"] == "tensor")
    # An all_gather before the output product too, and a reduce_scatter after the embedding too.
    expect_equal(found["forward", "all_gather"] + found["loss", "all_gather"], 2 * layers + 1, "all_gathers forward")
    expect_equal(found["forward", "reduce_scatter"], 2 * layers + 1, "reduce_scatters forward")
    expect_equal(found["backward", "reduce_scatter"] + found["loss", "reduce_scatter"], 2 * layers + 1, "reduce_scatters backward")
    expect_equal(found["forward", "all_reduce"], 0, "all_reduces forward")
    # The gradient of the positions is gathered too, but has fewer bytes.
    between = 2 * 16 * 64 * 4
    gathers = [c for c in plan.collectives("all_gather", phase="backward") if c["axis"] == "tensor" and c["bytes_out"] == between]
    expect_equal(len(gathers), 4 * layers + 2, "all_gathers backward")
    replicated = Plan(gpt2_tiny(), ["mesh.tensor=2", MEGATRON])
    reduced = [c["phase"] for c in replicated.collectives("all_reduce") if c["axis"] == "tensor" and c["bytes_out"] == between]
    expect_equal(collections.Counter(reduced), {"forward": 2 * layers + 1, "backward": 2 * layers + 1}, "all_reduces without sequence sharding")
    expect(plan.point("after_forward") < replicated.point("after_forward"), "expected fewer live bytes after the forward with sequence sharding")


@test
def partial_gradients():
    """Gradients of norms and of biases after row-sharded products are partial sums over the sequence. They are reduced once in a step, all of a unit
    together, as shards, after the reduction over the shard axis."""
    for data, repetitions in (([], 1), (["mesh.shard=2"], 3), (["mesh.replicate=2", "mesh.shard=2"], 1), (["mesh.replicate=2"], 3)):
        plan = Plan(gpt2_tiny(), data + ["mesh.tensor=2", MEGATRON, SEQUENCE, f"gradient.microbatches={repetitions}"])
        shards = 2 if "mesh.shard=2" in data else 1
        partial = [c for c in plan.collectives("all_reduce") if c["axis"] == "tensor" and c["phase"] == "backward"]
        expect_equal(sorted((c["unit"], c["microbatch"], c["bytes_in"]) for c in partial),
                     sorted([(f"h.{i}", repetitions - 1, 6 * 64 * 4 // shards) for i in range(4)] + [("root", repetitions - 1, 2 * 64 * 4 // shards)]),
                     f"{data}: all_reduces of partial gradients")
        expect_near_runs(train(plan, steps=2), train(Plan(gpt2_tiny(), data + [f"gradient.microbatches={repetitions}"]), steps=2), 2e-5, f"{data}", weights=2e-4)
    # With dtypes, modes and memory spaces of the recipe.
    data = ["mesh.shard=2"]
    for more, tolerance in ((["gradient.microbatches=2", "gradient.sync=every"], 2e-5), (["sharding.strategy=no_shard"], 2e-5), (["sharding.dim=flat"], 2e-5),
                            (["gradient.force_sum=true"], 2e-5), (["gradient.divide=3"], 2e-5), (['memory.offload=["parameters", "optimizer"]'], 2e-5),
                            (["precision.compute=bf16"], 3e-2), (['sharding.replicated=["*.bias", "ln_f*"]'], 2e-5)):
        expect_near_runs(train(Plan(gpt2_tiny(), data + ["mesh.tensor=2", MEGATRON, SEQUENCE] + more), steps=2), train(Plan(gpt2_tiny(), data + more), steps=2),
                         tolerance, f"{more}", weights=2e-4 if tolerance < 1e-3 else None)


@test
def remarks():
    expect_remark(gpt2_tiny(), ["mesh.tensor=2", MEGATRON, SEQUENCE], "remark: reduce_scatter over 'tensor': model.matmul")
    expect_remark(gpt2_tiny(), [SEQUENCE], "'sharding.sequence' has no effect where 'mesh.tensor' is 1")
    expect_remark(zoo("mlp-stack"), ["mesh.tensor=2", SEQUENCE, 'sharding.tensor={"*.in_proj.*"="column", "*.out_proj.*"="row"}'],
                  "'sharding.sequence' has no effect where no partial value has a sequence dim")


main()
