"""`loss.chunk_rows` where the vocabulary is sharded along the tensor axis: each rank computes the loss of its columns."""

from sluice import *

MEGATRON = "sharding.tensor=megatron"
CHUNKS = "loss.chunk_rows=8"


@test
def parity():
    for model, name in ((gpt2_tiny(), "gpt2"), (hugging_face("llama-tiny"), "llama")):
        for data in ([], ["mesh.shard=2"]):
            alone = train(Plan(model, data))
            for more in ([], [CHUNKS], [CHUNKS, "sharding.sequence=true"]):
                expect_near_runs(train(Plan(model, data + ["mesh.tensor=2", MEGATRON] + more)), alone, 2e-5, f"{name} {data + more}",
                                 weights=2e-4)


@test
def chunked_loss_of_an_unsharded_vocabulary():
    split = 'sharding.tensor={"*.mlp.c_fc.*"="column", "*.mlp.c_proj.*"="row"}'
    plan = Plan(gpt2_tiny(), ["mesh.tensor=2", split, CHUNKS])
    expect("linear_cross_entropy" in plan.text, "expected linear_cross_entropy in the program")
    expect_near_runs(train(plan), train(Plan(gpt2_tiny(), [])), 2e-5, "unsharded vocabulary", weights=2e-4)
    plan = Plan(gpt2_tiny(), ["mesh.tensor=2", MEGATRON, CHUNKS])
    expect("linear_cross_entropy" not in plan.text, "expected no linear_cross_entropy in the program")


main()
