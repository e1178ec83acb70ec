"""Outputs of an imported module that are not its loss: entry points of kind forward, and generation."""

from archives import *
from sluice import *

GPT = REFERENCE / "export-outputs"


def functions(model):
    """The inputs and outputs of each entry point, with their types."""
    found = {}
    for name, given, results in re.findall(r"func\.func @(\w+)\((.*)\) -> (.*) attributes", model.read_text()):
        ports = lambda text, kind: {port: shape for shape, port in re.findall(rf'tensor<([\w]+)> {{model\.{kind} = "([\w.]+)"', text)}
        found[name] = ports(given, "input"), ports(results, "output")
    return found


def imported(path, *options):
    model = SCRATCH / f"model-{next(numbers)}.mlir"
    done = run("sluice-import", "export", path, "-o", model, "--weights", model.with_suffix(".safetensors"), *options)
    return model, done


@test
def generation():
    expected = json.loads((GPT / "expected.json").read_text())["generated"]
    expect_equal(len(expected), 3, "prompts")
    for inputs, element in (((), "i64"), (("--inputs", "idx=tokens:96"), "i32")):
        model, _ = imported(GPT / "model.pt2", *inputs)
        expect_equal(functions(model)["logits"], ({"idx": f"2x16x{element}"}, {"logits": "2x16x96xf32"}), "the logits, in an output without a name, and their inputs")
        for settings in ((), ("mesh.shard=2",)):
            plan = Plan(model, settings).check()
            for prompt, tokens in expected.items():
                done = run("sluice-train", plan.path, "--init", GPT / "model.pt2", "--generate", len(tokens), "--temperature", 0, "--prompt", prompt)
                expect_equal([ord(c) for c in done.stdout.removeprefix(prompt)[:len(tokens)]], tokens, f"{element}, {settings}: tokens after '{prompt}'")


@test
def training_is_the_same_without():
    model, _ = imported(GPT / "model.pt2")
    alone, _ = imported(GPT / "model.pt2", "--train-only")
    expect_equal(sorted(functions(alone)), ["train_step"], "entry points of --train-only")
    a, b = Plan(model), Plan(alone)
    lines = lambda plan: plan.text[plan.text.index("\nentry train_step "):].split("\nentry ")[1].splitlines()[1:]
    launched = lambda plan: [re.sub(r" loc\(.*| at \S+", "", line) for line in lines(plan) if "(" in line]
    expect(len(launched(a)) > 20, "train_step has no launches")
    expect_equal(len(launched(a)), len(launched(b)), "launches of train_step")
    expect_same_bits(*(train(plan, "--init", GPT / "model.pt2") for plan in (a, b)), "with and without an entry point for logits")


@test
def values_within_the_module():
    model, done = imported(GPT / "model.pt2", "--report", "--add-output", "blocks.0,linear")
    expect_equal(functions(model)["forward"], ({"idx": "2x16xi64"}, {"blocks.0": "2x16x32xf32", "linear": "2x16x96xf32"}), "values by a module and by a name of the graph")
    for text in ("output      logits, 2x16x96: 12.00 KiB", "output      blocks.0, 2x16x32: 4.00 KiB"):
        expect(text in done.stderr, f"expected '{text}' in {done.stderr}")
    report = json.loads(imported(GPT / "model.pt2", "--json", "--add-output", "blocks.0")[1].stdout)
    expect_equal(report["outputs"], [{"name": "logits", "shape": [2, 16, 96], "bytes": 12288}, {"name": "blocks.0", "shape": [2, 16, 32], "bytes": 4096}], "outputs of the report")
    Plan(model, ["mesh.shard=2"]).check()
    done = try_run("sluice-import", "export", GPT / "model.pt2", "-o", SCRATCH / "none.mlir", "--add-output", "blocks.7")
    expect(done.returncode == 1 and "--add-output blocks.7: the module has no value and no submodule of the name" in done.stderr
           and "the path of a submodule, such as 'layers.0', is the value that it returns" in done.stderr, done.stderr)


def classifier(*outputs):
    """A module with a loss over the classes of x, and the named outputs."""
    archive = Archive()
    x, w, y = archive.input("x", [2, 4]), archive.parameter("w", [3, 4]), archive.input("y", [2], I64)
    scores = archive.op("linear.default", [2, 3], input=x, weight=w)
    archive.output(archive.op("cross_entropy_loss.default", [], self=scores, target=y), "loss")
    for name, target, sizes in outputs:
        archive.output(archive.op(target, sizes, self=scores), name)
    return archive


@test
def named_outputs():
    several = classifier(("probability", "sigmoid.default", [2, 3]), ("total", "sum.default", []), ("logits", "tanh.default", [2, 3]))
    model, _ = imported(several.save(SCRATCH / "several.pt2"))
    expect_equal(functions(model), {"train_step": ({"x": "2x4xf32", "y": "2xi64"}, {"loss": "f32"}), "logits": ({"x": "2x4xf32"}, {"logits": "2x3xf32"}),
                                    "forward": ({"x": "2x4xf32"}, {"probability": "2x3xf32", "total": "f32"})}, "entry points")
    Plan(model, ["mesh.shard=2"]).check()
    plan = Plan(model)
    done = try_run("sluice-train", plan.path, "--init", model.with_suffix(".safetensors"), "--generate", 1)
    expect(done.returncode == 4 and "entry point 'logits' needs an input of integers [rows, length] and the output 'logits' of f32 [rows, length, vocabulary]" in done.stderr,
           done.stderr)
    model, done = imported(classifier(("other", "special_i0.default", [2, 3])).save(SCRATCH / "left.pt2"))
    expect_equal(sorted(functions(model)), ["train_step"], "entry points without the output that is not supported")
    expect("warning: output 'other' is left out: 'aten.special_i0.default': it is not supported" in done.stderr, done.stderr)
    done = try_run("sluice-import", "export", classifier(("guard", "tanh.default", [2, 3])).save(SCRATCH / "guard.pt2"), "-o", SCRATCH / "none.mlir")
    expect(done.returncode == 1 and "output 'guard' has a name that is reserved" in done.stderr, done.stderr)
    _, done = imported(SCRATCH / "guard.pt2", "--train-only")
    model, _ = imported(classifier().save(SCRATCH / "alone.pt2"))
    expect_equal(sorted(functions(model)), ["train_step"], "entry points of a module that returns its loss")


def scaled(factor, keep_loss=True, width=4):
    """loss = mean(factor x w), and the output `y`."""
    archive = Archive()
    x, w = archive.input("x", [2, width]), archive.parameter("w", [width], payload=f"weight_of_{width}")
    y = archive.op("mul.Tensor", [2, width], self=archive.op("mul.Tensor", [2, width], self=x, other=w), other=factor)
    archive.output(archive.op("mean.default", [], self=y) if keep_loss else y, "loss" if keep_loss else "z")
    archive.output(y, "y")
    return archive


def with_program(archive, other, name="eval"):
    """Two programs in one archive, as torch's package_pt2 writes them."""
    added = {f"models/{name}.json": json.dumps(other.model()), f"data/weights/{name}_weights_config.json": json.dumps({"config": other.weights}),
             **{f"data/weights/{key}": data for key, data in other.payloads.items()}}
    return archive.save(SCRATCH / f"program-{next(numbers)}.pt2", entries=lambda files: files.update(added))


@test
def a_program_for_evaluation():
    model, _ = imported(with_program(scaled(2.0), scaled(3.0)))
    expect_equal(functions(model), {"train_step": ({"x": "2x4xf32"}, {"loss": "f32"}), "eval_step": ({"x": "2x4xf32"}, {"loss": "f32"}), "forward": ({"x": "2x4xf32"}, {"y": "2x4xf32"})},
                 "entry points")
    factors = re.findall(r"factor = ([\d.e+]+)", model.read_text())
    expect_equal([float(each) for each in factors], [2.0, 3.0, 3.0], "factors of train_step, eval_step and forward")
    rows = SCRATCH / "rows.safetensors"
    rows.write_bytes(join_safetensors({"x": {"dtype": "F32", "shape": [2, 4], "data_offsets": [0, 32]}}, struct.pack("<8f", *range(1, 9))))
    plan = Plan(model).check()
    done = run("sluice-train", plan.path, "--init", model.with_suffix(".safetensors"), "--eval-data", rows, "--steps", 0)
    loss = 3 * sum(x * 0.01 * (i % 4 + 1) for i, x in enumerate(range(1, 9))) / 8
    expect(re.search(rf"{loss:.4f}", done.stdout), f"expected the loss {loss} in {done.stdout}")
    for other, text in ((scaled(3.0, keep_loss=False), "no output is the loss"), (scaled(3.0, width=6), "'w' has another type than in the training program")):
        done = try_run("sluice-import", "export", with_program(scaled(2.0), other), "-o", SCRATCH / "none.mlir")
        expect(done.returncode == 1 and text in done.stderr and "this is about the program 'eval' of the archive" in done.stderr, done.stderr)
    model, done = imported(with_program(scaled(2.0), scaled(3.0), "decode"))
    expect("warning: the program 'decode' of the archive is not read, only 'model' and 'eval'" in done.stderr, done.stderr)
    expect_equal(sorted(functions(model)), ["forward", "train_step"], "entry points without the program")


main(no_empty_loops=True)
