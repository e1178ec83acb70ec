"""`loss.chunk_rows` where the vocabulary is sharded along the tensor axis: each rank computes the loss of its columns."""

from sharding_tools import *

MEGATRON = "sharding.tensor=megatron"
CHUNKS = "loss.chunk_rows=8"


def llama():
    path = SCRATCH / "llama.mlir"
    run("sluice-import", "hf", REFERENCE / "llama-tiny" / "config.json", "--batch", 2, "--sequence", 16, "-o", path)
    return path


@test
def numbers():
    for model, name in ((tiny(), "gpt2"), (llama(), "llama")):
        for data in ([], ["mesh.shard=2"]):
            alone = train(Plan(model, data))
            for more in ([], [CHUNKS], [CHUNKS, "sharding.sequence=true"]):
                near_runs(train(Plan(model, data + ["mesh.tensor=2", MEGATRON] + more)), alone, 2e-5, f"{name} {data + more}",
                          weights=2e-4)


@test
def chunks_stay_where_the_vocabulary_is_whole():
    split = 'sharding.tensor={"*.mlp.c_fc.*"="column", "*.mlp.c_proj.*"="row"}'
    plan = Plan(tiny(), ["mesh.tensor=2", split, CHUNKS])
    expect("linear_cross_entropy" in run("sluice-plan", "print", plan.path).stdout, "expected linear_cross_entropy in the program")
    near_runs(train(plan), train(Plan(tiny(), [])), 2e-5, "whole vocabulary", weights=2e-4)
    plan = Plan(tiny(), ["mesh.tensor=2", MEGATRON, CHUNKS])
    expect("linear_cross_entropy" not in run("sluice-plan", "print", plan.path).stdout, "expected no linear_cross_entropy in the program")


main()
