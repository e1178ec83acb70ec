"""Sums of losses with factors: each order of the operands is a plan that the checker proves, with the same numbers."""

from sluice import *

SGD = ["optimizer.name=sgd", "optimizer.lr=0.1"]
SETTINGS = ([], ["mesh.shard=2"], ["gradient.microbatches=2"], ["mesh.shard=2", "gradient.microbatches=2", "loss.per_rank=true"], ["precision.compute=bf16"])
# name: the factors of the mean of h, which is the first operand, and of the mean of its square.
FORMS = {"first": (0.5, 1.0), "second": (1.0, 0.25), "both": (0.5, 0.25), "neither": (1.0, 1.0)}


def model(name, turned):
    first, second = FORMS[name]
    scaled = lambda value, factor: (f"%{value}s", f"%{value}s = model.scale %{value} {{factor = {factor} : f64}} : tensor<f32>") if factor != 1 else (f"%{value}", "")
    (a, define_a), (b, define_b) = scaled("a", first), scaled("b", second)
    if turned:
        a, b = b, a
    path = SCRATCH / f"{name}-{turned}.mlir"
    path.write_text(f"""
module attributes {{model.name = "losses", model.batch = 4 : i64}} {{
  model.parameter @w : tensor<3x3xf32> normal(0.0, 0.7)
  func.func @train_step(%x: tensor<4x3xf32> {{model.input = "x"}}) -> (tensor<f32> {{model.output = "loss"}}) attributes {{model.entry = #model.entry<train>}} {{
    %w = model.read @w : tensor<3x3xf32>
    %h = model.matmul %x, %w : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
    %a = model.reduce_mean %h {{dims = array<i64: 0, 1>}} : (tensor<4x3xf32>) -> tensor<f32>
    {define_a}
    %q = model.multiply %h, %h : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %b = model.reduce_mean %q {{dims = array<i64: 0, 1>}} : (tensor<4x3xf32>) -> tensor<f32>
    {define_b}
    %l = model.add {a}, {b} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %l : tensor<f32>
  }}
}}
""")
    return path


@test
def orders_of_operands():
    seen = set()
    for name in FORMS:
        for settings in SETTINGS:
            found, wanted = (train(Plan(model(name, turned), [*SGD, *settings]).check(), data="random:3", steps=3).loss for turned in (False, True))
            expect(len(found) == 3 and all(abs(x - y) <= 1e-6 * max(1, abs(y)) for x, y in zip(found, wanted)), f"{name}, {settings}: losses {found} and {wanted}")
            seen.add((name, tuple(found)))
    expect(len({losses for _, losses in seen}) >= len(FORMS), "the factors have no effect")


main()
