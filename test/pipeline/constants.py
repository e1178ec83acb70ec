"""Inputs with values: tables and masks that a plan contains. Runs are those of the same numbers computed by ops."""

from sluice import *

SGD = ["optimizer.name=sgd", "optimizer.lr=0.05"]
SETTINGS = ([], ["mesh.shard=2"], ["gradient.microbatches=2"], ["mesh.replicate=2", "gradient.microbatches=3"],
            ["mesh.tensor=2", "sharding.tensor={'w' = 'column'}"], ["recompute.policy=block"], ["precision.compute=bf16"])


def model(computed):
    """A table of floats and one of indices, from the inputs `weights` and `order`, or from ops. The table of indices is not read where there is no gradient."""
    if computed:
        inputs = ""
        tables = "\n    ".join(
            [f"%c{i} = model.constant {value} : tensor<1xf32>" for i, value in enumerate(("0.5", "-1.25", "3.0"))] +
            ["%weights = model.concat %c0, %c1, %c2 {dim = 0 : i64} : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3xf32>"] +
            [f"%i{i} = model.constant {value} : tensor<1xi64>" for i, value in enumerate(("2.0", "0.0", "2.0", "1.0"))] +
            ["%order = model.concat %i0, %i1, %i2, %i3 {dim = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xi64>"])
    else:
        inputs = (', %order: tensor<4xi64> {model.input = "order", model.values = dense<[2, 0, 2, 1]> : tensor<4xi64>}'
                  ', %weights: tensor<3xf32> {model.input = "weights", model.values = dense<[0.5, -1.25, 3.0]> : tensor<3xf32>}')
        tables = ""
    path = SCRATCH / f"{'computed' if computed else 'given'}.mlir"
    path.write_text(f"""
module attributes {{model.name = "tables", model.batch = 4 : i64}} {{
  model.parameter @w : tensor<5x3xf32> normal(0.0, 0.7)
  model.parameter @table : tensor<3x3xf32> normal(0.0, 0.7)
  func.func @train_step(%x: tensor<4x5xf32> {{model.input = "x"}}{inputs}) -> (tensor<f32> {{model.output = "loss"}}) attributes {{model.entry = #model.entry<train>}} {{
    {tables}
    %w = model.read @w : tensor<5x3xf32>
    %table = model.read @table : tensor<3x3xf32>
    %y = model.matmul %x, %w : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
    %z = model.multiply %y, %weights : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %rows = model.embedding %table, %order : (tensor<3x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
    %s = model.add %z, %rows : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %q = model.multiply %s, %s : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %loss = model.reduce_mean %q {{dims = array<i64: 0, 1>}} : (tensor<4x3xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }}
}}
""")
    return path


@test
def equal_to_computed_tables():
    for settings in SETTINGS:
        found, wanted = (train(Plan(model(computed), [*SGD, *settings]).check(), data="random:7", steps=4) for computed in (False, True))
        expect_same_bits(found, wanted, str(settings))


@test
def equal_in_evaluation_and_after_resume():
    """Steps, evaluations and a resumed run alternate, so other entry points use the memory of the tables in between."""
    runs = []
    for computed in (False, True):
        plan = Plan(model(computed), [*SGD, "mesh.shard=2"]).check()
        folder = SCRATCH / f"run-{computed}"
        logs = []
        for steps in (3, 6):
            log = SCRATCH / f"run-{computed}-{steps}.jsonl"
            run("sluice-train", plan.path, "--data", "random:7", "--steps", steps, "--checkpoint", folder, "--eval-data", "random:8", "--eval-every", 1, "--eval-batches", 2,
                "--log", log)
            logs += [{key: value for key, value in json.loads(line).items() if "loss" in key} for line in log.read_text().splitlines()]
        runs.append([each for each in logs if each])
    expect(len(runs[0]) == 6 and all(set(each) == {"loss", "eval_loss"} for each in runs[0]), f"expected losses of six steps and evaluations but got {runs[0]}")
    expect_equal(runs[0], runs[1], "losses")


@test
def in_plans_for_gpus():
    plan = Plan(model(False), [*SGD, "mesh.shard=2", "target.device=cuda"]).check()
    text = run("sluice-plan", "print", plan.path).stdout
    expect("weights(constant)" in text and "order(constant)" in text, text)


@test
def description():
    plan = Plan(model(False), SGD)
    lines = [line for line in run("sluice-plan", "print", plan.path).stdout.splitlines() if "(constant)" in line]
    # Of train_step and eval_step.
    expect_equal(len(lines), 4, "lines with constants")
    expect(all(re.search(r" sha256 [0-9a-f]{64}$", line) for line in lines), "\n".join(lines))


main()
