"""Shards along one dim exchanged for shards along another: a product by columns is added to its transpose."""

from parity import parity
from sluice import *

def f32(*shape):
    return "tensor<" + "x".join(map(str, shape)) + "xf32>"


@functools.cache
def model(batch, size):
    """The mean square of h + h^T, where h = x w is [batch, size, size]."""
    path = SCRATCH / f"exchange-{batch}-{size}.mlir"
    x, h, w = f32(batch, size, 3), f32(batch, size, size), f32(3, size)
    path.write_text(f"""
module attributes {{model.name = "exchange"}} {{
  model.parameter @w : {w} normal(0.0, 0.7)
  func.func @train_step(%x: {x} {{model.input = "x"}}) -> (tensor<f32> {{model.output = "loss"}})
      attributes {{model.entry = #model.entry<train>}} {{
    %w = model.read @w : {w}
    %h = model.matmul %x, %w : ({x}, {w}) -> {h}
    %t = model.transpose %h {{permutation = array<i64: 0, 2, 1>}} : ({h}) -> {h}
    %s = model.add %h, %t : ({h}, {h}) -> {h}
    %q = model.multiply %s, %s : ({h}, {h}) -> {h}
    %loss = model.reduce_mean %q {{dims = array<i64: 0, 1, 2>}} : ({h}) -> tensor<f32>
    return %loss : tensor<f32>
  }}
}}
""")
    return path


COLUMN = 'sharding.tensor={"w"="column"}'


@test
def shards_of_rows_become_shards_of_columns():
    """Dims that the ranks do not divide are gathered."""
    for size, ranks in ((4, 2), (6, 3), (5, 2), (5, 3), (3, 4)):
        parity(model(2, size), [f"mesh.tensor={ranks}", COLUMN], 1, ([],), data="random:4")


@test
def with_sharding_precision_and_recompute():
    mesh = ["mesh.shard=2", "mesh.tensor=2", COLUMN]
    parity(model(4, 5), mesh, 2, ([], ["recompute.policy=block"], ["gradient.clip_norm=1e9"]), microbatches=2)
    bf16 = ["precision.compute=bf16"]
    expect_near_runs(train(Plan(model(4, 4), mesh + bf16)), train(Plan(model(4, 4), bf16 + ["mesh.shard=2"])), 2e-2, "bf16")


@test
def an_exchange_replaces_a_gather():
    """Of h in the forward, and of its gradient in the backward. The mean is of all elements, which are gathered."""
    plan = Plan(model(2, 4), ["mesh.tensor=2", COLUMN]).check()
    kinds = collections.Counter(c["kind"] for c in plan.collectives() if c["stream"] == "tensor")
    expect_equal(kinds, {"all_to_all": 2, "all_gather": 1, "all_reduce": 1}, "collectives along the tensor axis")
    for exchange in plan.collectives("all_to_all"):
        expect_equal((exchange["bytes_in"], exchange["bytes_out"]), (2 * 4 * 2 * 4, 2 * 4 * 2 * 4), "bytes")


if __name__ == "__main__":
    main()
