"""Fewer heads of keys and values than tensor ranks, or a number of heads that the ranks do not divide: every rank has all heads of
keys and values, and a shard of the heads of queries."""

from sluice import *

MEGATRON = "sharding.tensor=megatron"


def llama(heads, shared, layers=1, **more):
    return hugging_face(reference_config("llama-tiny") | {
        "num_attention_heads": heads, "num_key_value_heads": shared, "head_dim": 64 // heads, "num_hidden_layers": layers,
        "intermediate_size": 48} | more)


@test
def fewer_kv_heads_than_ranks():
    for heads, shared, tensor in ((4, 1, 2), (4, 1, 4), (4, 2, 4), (8, 2, 4)):
        model = llama(heads, shared)
        for data in ([], ["mesh.shard=2"]) if tensor < 4 else ([],):
            for more in ([], ["recompute.policy=block"]):
                expect_near_runs(train(Plan(model, data + [f"mesh.tensor={tensor}", MEGATRON] + more)), train(Plan(model, data + more)),
                                 2e-5, f"{heads} and {shared} heads over {tensor}", weights=2e-4)


@test
def ranks_without_a_query_head():
    """Their terms of the gradients of keys and values are zeros."""
    for heads, shared, tensor in ((2, 1, 3), (4, 1, 3), (8, 1, 5)):
        model = llama(heads, shared, head_dim=8)
        expect_near_runs(train(Plan(model, [f"mesh.tensor={tensor}", MEGATRON, "optimizer.name=sgd"])), train(Plan(model, ["optimizer.name=sgd"])), 2e-5,
                         f"{heads} and {shared} heads over {tensor}", weights=2e-4)


@test
def uneven_kv_heads():
    model = llama(12, 3, hidden_size=96, head_dim=8)
    expect_near_runs(train(Plan(model, ["mesh.tensor=2", MEGATRON])), train(Plan(model, [])), 2e-5, "12 and 3 heads over 2", weights=2e-4)


@test
def every_family():
    """The Megatron plan of each family, over ranks that its heads allow; the ranks divide no vocabulary."""
    for family, tensor in (("gpt2", 3), ("llama", 4), ("llama-linear", 2), ("mistral", 3), ("qwen2", 2), ("qwen3", 3)):
        model = hugging_face(f"families/{family}")
        alone = train(Plan(model, []), steps=2)
        for more in ([], ["sharding.sequence=true", "loss.chunk_rows=8"]):
            expect_near_runs(train(Plan(model, [f"mesh.tensor={tensor}", MEGATRON] + more), steps=2), alone, 2e-5,
                             f"{family} over {tensor} {more}", weights=2e-4)


@test
def remark_on_shared_kv_heads():
    expect_remark(llama(4, 2), ["mesh.tensor=4", MEGATRON], "separates heads that several ranks share")


@test
def query_heads_of_one_kv_head_are_on_one_rank():
    """Ranks that divide neither heads of queries nor those of keys and values: all query heads of one key head are on one rank."""
    for heads, shared, tensor, local in ((4, 2, 8, 2), (6, 2, 4, 3), (12, 3, 5, 4)):
        model = llama(heads, shared, hidden_size=64, head_dim=8)
        plan = Plan(model, [f"mesh.tensor={tensor}", MEGATRON])
        expect_near_runs(train(plan), train(Plan(model, [])), 2e-5, f"{heads} and {shared} heads over {tensor}", weights=2e-4)
        expect_equal(plan.parameters()["model.layers.0.self_attn.q_proj.weight"]["local"], [8 * local, 64], f"{heads} over {tensor}: q_proj")


main()
