"""names.py: names of a model do not clash with names that the compiler uses.

Streams, the mesh and units are not symbols of the model: parameters, functions and blocks may have their names. Two names of entry points are reserved, and the name of
the unit of the parameters in no block: these are errors at the op that has the name.
"""

# REQUIRES: compiler

from sluice import *

MODEL = """module attributes {{model.name = "names", model.batch = 4 : i64}} {{
  model.parameter @{parameter} : tensor<8x8xf32> normal(0.0, 0.5)
  model.parameter @{parameter}.bias : tensor<8xf32> zeros
  func.func @{function}(%x: tensor<4x8xf32> {{model.input = "x"}}) -> (tensor<f32> {{model.output = "loss"}}) attributes {{model.entry = #model.entry<train>}} {{
    %y = model.block "{block}" -> tensor<4x8xf32> {{
      %w = model.read @{parameter} : tensor<8x8xf32>
      %h = model.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      model.yield %h : tensor<4x8xf32>
    }}
    %b = model.read @{parameter}.bias : tensor<8xf32>
    %z = model.add %y, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %loss = model.reduce_mean %z {{dims = array<i64: 0, 1>}} : (tensor<4x8xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }}
}}
"""
USUAL = {"parameter": "w", "function": "train_step", "block": "h"}

# Every stream, the mesh, the copy of the unsharded program, sections, ports and entry points.
INTERNAL = ["compute", "gather", "reduce", "tensor", "fetch", "offload", "host", "mesh", "unsharded", "microbatch", "update", "loss", "seed", "h"]
RECIPES = [["mesh.shard=2"], ["mesh.shard=2", "memory.offload=['parameters', 'optimizer']"], ["mesh.tensor=2", "sharding.tensor={w = 'column'}"]]


def compile_names(settings, **names):
    path = SCRATCH / "m.mlir"
    path.write_text(MODEL.format(**(USUAL | names)))
    return try_run("sluice-compile", path, *set_options(settings), "-o", SCRATCH / "m.plan")


@test
def names_of_internal_symbols():
    for place, name in itertools.product(USUAL, INTERNAL):
        for settings in RECIPES:
            if place == "parameter" and "mesh.tensor=2" in settings:
                settings = [setting.replace("w =", f"{name} =") for setting in settings]
            done = compile_names(settings, **{place: name})
            expect_equal((done.returncode, "error" in done.stderr), (0, False), f"{place} {name} with {settings}")


@test
def trained_with_internal_names():
    names = {"parameter": "gather", "function": "reduce", "block": "compute"}
    losses = {}
    for given in ({}, names):
        expect_equal(compile_names(RECIPES[0], **given).returncode, 0, "exit")
        run("sluice-train", SCRATCH / "m.plan", "--entries", given.get("function", "train_step"), "--data", "random:1", "--eval-data", "random:2", "--steps", "3",
            "--log", SCRATCH / "run.jsonl", "--quiet")
        losses[bool(given)] = [(json.loads(line).get("loss"), json.loads(line).get("eval_loss")) for line in open(SCRATCH / "run.jsonl")]
    expect_equal(losses[True], losses[False], "losses with names of streams")


@test
def reserved_names():
    for names, line, message in [
            ({"function": "init"}, 4, "symbol 'init' is reserved for the entry point that computes the initial weights"),
            ({"parameter": "init"}, 2, "symbol 'init' is reserved for the entry point that computes the initial weights"),
            ({"parameter": "eval_step"}, 2, "symbol 'eval_step' is reserved for the entry point of evaluation"),
            ({"block": "root"}, 5, "'model.block' op has the name of the unit of the parameters in no block: 'root'"),
            ({"parameter": "train_step"}, 4, "redefinition of symbol named 'train_step'")]:
        done = compile_names([], **names)
        expect(done.returncode == 1 and re.search(rf"m\.mlir:{line}:\d+: error: {re.escape(message)}", done.stderr),
               f"{names}: expected exit 1 and {message} on line {line} but got exit {done.returncode}\n{done.stderr}")


main()
