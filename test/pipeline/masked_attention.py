"""Attention under a mask that depends on an input and a bias that is a parameter: runs on several ranks are those of one rank, and those of
the decomposed op."""

from sluice import *

SGD = ["optimizer.name=sgd", "optimizer.lr=0.1"]
MEGATRON = "sharding.tensor={wq = 'column', wk = 'column', wv = 'column', wo = 'row'}"
ROWS, LENGTH, WIDTH, HEADS, SIZE = 4, 6, 16, 4, 8


def model(name, bias, groups=HEADS, mask=(ROWS, 1, 1, LENGTH)):
    x, inner, shared = f"tensor<{ROWS}x{LENGTH}x{WIDTH}xf32>", f"tensor<{ROWS}x{LENGTH}x{HEADS * SIZE}xf32>", f"tensor<{ROWS}x{LENGTH}x{groups * SIZE}xf32>"
    q, k = f"tensor<{ROWS}x{LENGTH}x{HEADS}x{SIZE}xf32>", f"tensor<{ROWS}x{LENGTH}x{groups}x{SIZE}xf32>"
    weights = {"q": HEADS * SIZE, "k": groups * SIZE, "v": groups * SIZE}
    of_bias, of_mask = ("x".join(map(str, shape)) for shape in (bias, mask))
    declared = "\n  ".join(f"model.parameter @w{key} : tensor<{WIDTH}x{size}xf32> normal(0.0, 0.5)" for key, size in weights.items())
    projected = "\n    ".join(
        f"""%w{key} = model.read @w{key} : tensor<{WIDTH}x{size}xf32>
    %p{key} = model.matmul %x, %w{key} : ({x}, tensor<{WIDTH}x{size}xf32>) -> {inner if key == "q" else shared}
    %{key} = model.reshape %p{key} : ({inner if key == "q" else shared}) -> {q if key == "q" else k}""" for key, size in weights.items())
    path = SCRATCH / f"{name}.mlir"
    path.write_text(f"""
module attributes {{model.name = "masked", model.batch = {ROWS} : i64}} {{
  {declared}
  model.parameter @wo : tensor<{HEADS * SIZE}x{WIDTH}xf32> normal(0.0, 0.5)
  model.parameter @bias : tensor<{of_bias}xf32> normal(0.0, 1.0)
  func.func @train_step(%x: {x} {{model.input = "x"}}, %given: tensor<{of_mask}xf32> {{model.input = "seen"}}) -> (tensor<f32> {{model.output = "loss"}}) attributes {{model.entry = #model.entry<train>}} {{
    %limit = model.constant 0.2 : tensor<f32>
    %seen = model.compare %given, %limit {{predicate = #model.predicate<gt>}} : (tensor<{of_mask}xf32>, tensor<f32>) -> tensor<{of_mask}xui8>
    {projected}
    %bias = model.read @bias : tensor<{of_bias}xf32>
    %y, %lse = model.attention %q, %k, %v, %seen, %bias {{biased, masked, scale = 0.5 : f64}} : ({q}, {k}, {k}, tensor<{of_mask}xui8>, tensor<{of_bias}xf32>) -> ({q}, tensor<{ROWS}x{HEADS}x{LENGTH}xf32>)
    %joined = model.reshape %y : ({q}) -> {inner}
    %wo = model.read @wo : tensor<{HEADS * SIZE}x{WIDTH}xf32>
    %z = model.matmul %joined, %wo : ({inner}, tensor<{HEADS * SIZE}x{WIDTH}xf32>) -> {x}
    %square = model.multiply %z, %z : ({x}, {x}) -> {x}
    %loss = model.reduce_mean %square {{dims = array<i64: 0, 1, 2>}} : ({x}) -> tensor<f32>
    return %loss : tensor<f32>
  }}
}}
""")
    return path


@test
def on_several_ranks():
    for name, bias, groups in (("heads", (1, HEADS, LENGTH, LENGTH), HEADS), ("shared", (1, 1, LENGTH, LENGTH), 2), ("keys", (1, HEADS, 1, LENGTH), 2)):
        program = model(name, bias, groups)
        alone = train(Plan(program, SGD).check(), data="random:7", steps=4)
        for settings in (["mesh.shard=2"], ["mesh.replicate=2"], ["gradient.microbatches=2"], ["recompute.policy=block"], ["mesh.tensor=2", MEGATRON],
                         ["mesh.shard=2", "mesh.tensor=2", MEGATRON]):
            # Ranks of data have separate rows: as many micro-batches are the same step.
            data = sum(1 for each in settings if each in ("mesh.shard=2", "mesh.replicate=2"))
            wanted = train(Plan(program, [*SGD, "gradient.microbatches=2"]), data="random:7", steps=4) if data or "gradient.microbatches=2" in settings else alone
            expect_near_runs(train(Plan(program, [*SGD, *settings]).check(), data="random:7", steps=4), wanted, 2e-5, f"{name} with {settings}", weights=1e-5)


@test
def as_decomposed():
    for name, bias, mask in (("heads", (1, HEADS, LENGTH, LENGTH), (ROWS, 1, 1, LENGTH)), ("rows", (ROWS, 1, 1, LENGTH), (ROWS, HEADS, LENGTH, LENGTH))):
        program = model(name, bias, 2, mask)
        parts = SCRATCH / f"{name}-parts.mlir"
        run("sluice-opt", program, "-model-decompose", "-o", parts)
        expect("model.attention" not in parts.read_text(), "the op is not decomposed")
        wanted, found = (train(Plan(each, SGD), data="random:7", steps=4) for each in (parts, program))
        expect_near_runs(found, wanted, 2e-5, name, weights=1e-5)


main()
