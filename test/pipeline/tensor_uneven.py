"""Dims that the ranks of the tensor axis do not divide: the last shards are padded, or empty, and padding is never data."""

from parity import ADAM, parity
from sluice import *

MEGATRON = "sharding.tensor=megatron"
SPLIT = 'sharding.tensor={"*.in_proj.*"="column", "*.out_proj.*"="row"}'


def parity_of(dim, mesh, ranks, recipes, split=SPLIT):
    model = zoo("mlp-stack", f"dim={dim}", "batch=8")
    start = train(Plan(model, []), steps=0).weights
    for recipe in recipes:
        expect(train(Plan(model, mesh + [split] + recipe), steps=0).weights == start, f"{dim}, {mesh + recipe}: expected the initial weights of one rank")
    parity(model, mesh + [split], ranks, recipes, data="random:4")


@test
def tensor_axis_only():
    for dim in (3, 5, 17):
        parity_of(dim, ["mesh.tensor=2"], 1, ([],))
    # More ranks than some dims have chunks: the last ranks have no elements of those.
    parity_of(1, ["mesh.tensor=4"], 1, ([],))
    parity_of(3, ["mesh.tensor=7"], 1, ([], ["gradient.clip_norm=1e9", "gradient.clip_type=inf"]))


@test
def replicate_shard_and_tensor():
    for dim in (3, 5, 17):
        parity_of(dim, ["mesh.replicate=2", "mesh.shard=2", "mesh.tensor=2"], 4, ([], ["sharding.dim=flat"]))


@test
def tensor_and_data_shards_of_one_dim():
    plan = Plan(zoo("mlp-stack", "dim=5"), ["mesh.shard=2", "mesh.tensor=2", SPLIT])
    weight = plan.parameters()["0.in_proj.weight"]
    expect_equal((weight["shape"], weight["part"]["dim"], weight["local"]), ([15, 5], 0, [4, 5]), "0.in_proj.weight")
    bias = plan.parameters()["0.in_proj.bias"]
    expect_equal((bias["shape"], bias["local"]), ([15], [4]), "0.in_proj.bias")


@test
def shardings_that_need_gathers():
    for split in ('{"*.in_proj.weight"="column", "*.out_proj.weight"="row"}', '{"*.in_proj.*"="column"}',
                  '{"*.out_proj.weight"="row"}', '{"*.out_proj.*"="column"}', '{"0.in_proj.*"="row"}'):
        parity_of(5, ["mesh.shard=2", "mesh.tensor=2"], 2, ([],), "sharding.tensor=" + split)


@test
def norms():
    """LayerNorms of uneven shards, and gradient norms."""
    model = zoo("norm-mlps", "dim=5", "batch=8")
    parity(model, ["mesh.shard=2", "mesh.tensor=2"], 2, [[SPLIT], ['sharding.tensor={"*.out_proj.*"="column"}']])
    model = zoo("mlp-stack", "dim=5", "batch=8")
    for p in (1, 2, 3, "inf"):
        clip = ["gradient.clip_norm=0.05", f"gradient.clip_type={p}", "optimizer.name=sgd", "optimizer.lr=0.1"]
        expect_near_runs(train(Plan(model, ["mesh.shard=2", "mesh.tensor=2", SPLIT] + clip)),
                         train(Plan(model, ["gradient.microbatches=2"] + clip)), 1e-5, f"p = {p}", weights=1e-5)


@test
def uneven_vocabularies():
    """The last rank has fewer rows of the embedding and fewer columns of the logits, or one rank has none."""
    for size, tensor in ((257, 2), (255, 4)):
        model = hugging_face(reference_config("gpt2-tiny") | {"vocab_size": size, "n_layer": 1})
        for data in ([], ["mesh.shard=2"]):
            expect_near_runs(train(Plan(model, data + [f"mesh.tensor={tensor}", "sharding.tensor=megatron"])), train(Plan(model, data)),
                             2e-5, f"{size} over {tensor}", weights=2e-4)


@test
def precision_and_accumulation():
    model = zoo("mlp-stack", "dim=5", "batch=8")
    mesh = ["mesh.shard=2", "mesh.tensor=2", SPLIT]
    for recipe, tolerance in ((["precision.compute=bf16"], 3e-2), (["gradient.microbatches=2"], 1e-5),
                              (["gradient.microbatches=2", "gradient.sync=every"], 1e-5)):
        count = 4 if "gradient.microbatches=2" in recipe else 2
        settings = [s for s in recipe if "gradient" not in s] + [f"gradient.microbatches={count}"]
        expect_near_runs(train(Plan(model, mesh + recipe + ADAM)), train(Plan(model, settings + ADAM)), tolerance, f"{recipe}")


@test
def weights_on_another_mesh():
    model = zoo("mlp-stack", "dim=5", "batch=8")
    first = train(Plan(model, ["mesh.shard=2", "mesh.tensor=2", SPLIT] + ADAM))
    folder = SCRATCH / "first"
    folder.mkdir(exist_ok=True)
    (folder / "model.safetensors").write_bytes(first.weights)
    for mesh in ([], ["mesh.tensor=4", SPLIT], ["mesh.tensor=3", "mesh.replicate=2", SPLIT]):
        again = train(Plan(model, mesh), "--init", folder, steps=0)
        expect(again.weights == first.weights, f"{mesh}: expected the saved weights but got others")


@test
def ranks_without_heads():
    """Four heads over five ranks: the last rank has no heads, and its terms of the sums are zero."""
    model = zoo("transformer", "dropout=0", "loss=cross-entropy")
    split = ('sharding.tensor={"*.wq.weight"="column", "*.wk.weight"="column", "*.wv.weight"="column", "*.wo.weight"="row", '
             '"*.w1.*"="column", "*.w2.weight"="row"}')
    expect_near_runs(train(Plan(model, ["mesh.tensor=5", split])), train(Plan(model, [])), 2e-5, "4 heads over 5", weights=2e-4)


@test
def shards_of_replicated_values():
    """The cotangent of a sum is ones: its shards are equal on all ranks, and are still shards."""
    model = zoo("linear-relu-linear")
    for split in ('{"*.weight"="column"}', '{"*.weight"="column", "*.bias"="column"}'):
        expect_near_runs(train(Plan(model, ["mesh.shard=2", "mesh.tensor=2", "sharding.tensor=" + split])),
                         train(Plan(model, ["mesh.shard=2"])), 2e-5, split, weights=2e-4)


def gpt2(heads):
    return hugging_face(reference_config("gpt2-tiny") | {"n_head": heads, "n_embd": 8 * heads, "n_layer": 1})


@test
def fused_qkv_heads():
    """Q|K|V in one weight: a rank has complete heads, the same ones of all three."""
    for heads, ranks, local in ((12, 5, 3), (4, 3, 2), (3, 2, 2), (2, 3, 1)):
        model = gpt2(heads)
        alone = train(Plan(model, []))
        plan = Plan(model, [f"mesh.tensor={ranks}", MEGATRON])
        expect_near_runs(train(plan), alone, 2e-5, f"{heads} heads over {ranks}", weights=2e-4)
        expect(train(plan, steps=0).weights == train(Plan(model, []), steps=0).weights,
               f"{heads} over {ranks}: expected the initial weights of one rank")
        weight = plan.parameters()["h.0.attn.c_attn.weight"]
        expect_equal((weight["shape"], weight["local"], weight["part"]["segments"]),
                     ([8 * heads, 24 * heads], [8 * heads, 24 * local], 3), f"{heads} over {ranks}: c_attn")
        # The product that reads the heads has the same sharding.
        expect_equal(plan.parameters()["h.0.attn.c_proj.weight"]["local"], [8 * local, 8 * heads], f"{heads} over {ranks}: c_proj")
        # There are no gathers over the tensor axis.
        expect_equal(plan.count("all_gather", axis="tensor") + len([c for c in plan.collectives("all_gather") if c["axis"] == "tensor"]), 0,
                     f"{heads} over {ranks}: gathers")


@test
def fused_qkv_heads_and_recipes():
    model = gpt2(3)
    for data in ([], ["mesh.shard=2"]):
        for more, tolerance in (([], 2e-5), (["recompute.policy=block", "gradient.clip_norm=0.5"], 2e-5), (["sharding.sequence=true"], 2e-5),
                                (["sharding.dim=flat"], 2e-5), (["sharding.reshard_after_forward=true", "gradient.microbatches=2"], 2e-5),
                                (["gradient.clip_norm=0.1", "gradient.clip_type=inf"], 2e-5), (["optimizer.name=sgd", "optimizer.lr=0.1"], 2e-5),
                                (["precision.compute=bf16"], 3e-2)):
            expect_near_runs(train(Plan(model, data + ["mesh.tensor=2", MEGATRON] + more)), train(Plan(model, data + [m for m in more if "sharding" not in m])),
                             tolerance, f"{data + more}", weights=2e-4 if tolerance < 1e-3 else None)


@test
def fused_weights_on_another_mesh():
    model = gpt2(12)
    first = train(Plan(model, ["mesh.tensor=5", MEGATRON]))
    folder = SCRATCH / "fused"
    folder.mkdir(exist_ok=True)
    (folder / "model.safetensors").write_bytes(first.weights)
    for mesh in ([], ["mesh.tensor=4", MEGATRON], ["mesh.shard=2", "mesh.tensor=5", MEGATRON], ["mesh.tensor=7", MEGATRON]):
        again = train(Plan(model, mesh), "--init", folder, steps=0)
        expect(again.weights == first.weights, f"{mesh}: expected the saved weights but got others")


@test
def uneven_heads():
    model = hugging_face("llama-tiny")
    alone = train(Plan(model, []))
    for more in ([], ["sharding.sequence=true"]):
        expect_near_runs(train(Plan(model, ["mesh.tensor=3", MEGATRON] + more)), alone, 2e-5, f"4 heads over 3 {more}", weights=2e-4)


main()
