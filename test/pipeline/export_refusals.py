"""What `sluice-import export` refuses: each archive is an error with its reason, the user's line and a remedy, and nothing is written."""

import random
import zipfile

from archives import *
from sluice import *


def expect_refused(archive, *texts, options=(), code=1):
    """The message and its notes contain the texts; neither file is written."""
    model, weights = SCRATCH / "refused.mlir", SCRATCH / "refused.safetensors"
    for file in (model, weights):
        file.unlink(missing_ok=True)
    done = try_run("sluice-import", "export", archive, "-o", model, "--weights", weights, *options)
    for text in texts:
        expect(done.returncode == code and text in done.stderr, f"expected exit code {code} and '{text}' but got {done.returncode} and {done.stderr}")
    expect(not model.exists() and not weights.exists(), f"{texts}: a file was written")


def product(kind=F32):
    """y = mean(x w)."""
    archive = Archive()
    x, w = archive.input("x", [4, 3], kind), archive.parameter("w", [2, 3], kind=kind)
    y = archive.op("linear.default", [4, 2], kind, module="layer", input=x, weight=w)
    archive.output(archive.op("mean.default", [], kind, self=y))
    return archive


def refuse_op(op, *texts, sizes=(4, 2), kind=F32, **arguments):
    """A program with one more op, on y = x w; arguments that are functions get the archive and y. The argument `source` of an op is `source_` here."""
    archive = Archive()
    x, w = archive.input("x", [4, 3]), archive.parameter("w", [2, 3])
    y = archive.op("linear.default", [4, 2], input=x, weight=w)
    given = {name: value(archive, y) if callable(value) else value for name, value in arguments.items()}
    z = archive.op(op, list(sizes), kind, source="z = op(y)", **given)
    for each in archive.nodes[-1]["inputs"]:
        each["name"] = each["name"].replace("source_", "source")
    z = z[0] if isinstance(z, list) else z
    archive.output(archive.op("mean.default", [], self=z))
    expect_refused(archive.save(SCRATCH / "op.pt2"), *texts)


def y_of(_, y):
    return y


def refuse_change(change, *texts, options=()):
    expect_refused(product().save(SCRATCH / "changed.pt2", change), *texts, options=options)


def refuse_files(entries, *texts):
    expect_refused(product().save(SCRATCH / "files.pt2", entries=entries), *texts)


@test
def accepts_the_archive_that_the_tests_change():
    for kind in (F32, F64):
        run("sluice-import", "export", product(kind).save(SCRATCH / "good.pt2"), "-o", SCRATCH / "good.mlir")


@test
def usage():
    for given, message in (([], "missing archive, expected the .pt2 file of torch.export.save"),
                           (["m.pt2"], "--output is missing, expected the file to write, or - for standard output")):
        done = try_run("sluice-import", "export", *given)
        expect(done.returncode == 2 and message in done.stderr, f"{given}: expected exit code 2 and '{message}' but got {done.returncode} and {done.stderr}")


@test
def containers():
    (SCRATCH / "text.pt2").write_text("no archive")
    expect_refused(SCRATCH / "text.pt2", "text.pt2: not a zip archive")
    expect_refused(SCRATCH / "missing.pt2", "missing.pt2")
    expect_refused(product().save(SCRATCH / "deflated.pt2", compression=zipfile.ZIP_DEFLATED), "is compressed, expected a stored entry",
                   "write the file with them, not with a zip program")
    refuse_files(lambda files: files.pop("models/model.json"), "zip archive, expected one entry 'models/model.json', as torch.export.save writes it, but got 0")

    def older(files):
        files.pop("models/model.json")
        files["serialized_exported_program.json"] = "{}"
    refuse_files(older, "it has the layout of torch before 2.8: export it again with a later version")
    refuse_files(lambda files: files.update(byteorder="big"), "byte order, expected 'little' but got 'big'")
    refuse_files(lambda files: files.update({"models/model.json": "{"}), "the program is not JSON: ")
    refuse_files(lambda files: files.update({"models/model.json": "[]"}), "the program is not a JSON object")
    refuse_files(lambda files: files.update({"models/model.json": "[" * 300 + "]" * 300}), "the program nests more than 200 objects and arrays")
    refuse_files(lambda files: files.update({"data/weights/model_weights_config.json": "{}"}), "'model/data/weights/model_weights_config.json' is not a JSON object with 'config'")


@test
def versions():
    def version(model, _):
        model["schema_version"] = {"major": 9, "minor": 1}
    refuse_change(version, "schema 9.1 of torch.export, expected 8", "torch 2.5 to 2.15 write schema 8")

    def decomposed(model, _):
        model["verifiers"] = ["ATEN"]
    refuse_change(decomposed, "decomposed program, expected the training program", "save the result of torch.export.export without run_decompositions()")
    run("sluice-import", "export", product().save(SCRATCH / "decomposed.pt2", decomposed), "-o", SCRATCH / "decomposed.mlir", "--allow-decomposed")


@test
def weights():
    def weight(key, value):
        def change(_, config):
            meta = config["config"]["w"]["tensor_meta"]
            (meta if key in meta else config["config"]["w"])[key] = value
        return change
    integers = lambda *values: [{"as_int": value} for value in values]
    refuse_change(weight("sizes", integers(3, 3)), "'w' reaches beyond the 24 bytes of its storage")
    refuse_change(weight("sizes", integers(2, 2)), "'w' is 2x3 of type float32 in the program, but 2x2 of type float32 in the weights")
    refuse_change(weight("strides", integers(1 << 40, 1)), "'w' reaches beyond the 24 bytes of its storage")
    refuse_change(weight("storage_offset", {"as_int": 1}), "'w' reaches beyond the 24 bytes of its storage")
    needs = "tensor 'w' needs a dtype, a storage_offset, and as many sizes as strides of at least 0"
    for key, value in (("sizes", integers(-1, 3)), ("sizes", integers(2)), ("strides", None)):
        refuse_change(weight(key, value), needs)
    refuse_change(weight("dtype", 9), "tensor 'w', expected a dtype such as F32 or BF16 but got complex32")
    refuse_change(weight("dtype", 2), "'w' is 2x3 of type float32 in the program, but 2x3 of type I8 in the weights")
    refuse_change(weight("layout", 1), "tensor 'w' is sparse, and sparse tensors are not read")
    refuse_change(weight("use_pickle", True), "tensor 'w' is pickled, and pickled tensors are not read")
    refuse_change(lambda _, config: config["config"]["w"].pop("path_name"), "tensor 'w' has no path_name in its list")
    refuse_change(lambda _, config: config["config"].pop("w"), "the archive does not list the tensor 'w'")
    refuse_files(lambda files: files.update({"data/weights/weight_0": ""}), "tensor 'w' has no bytes in the archive")
    expect_refused(product(BF16).save(SCRATCH / "bf16.pt2"), "parameter 'w' has the type bfloat16, expected float32",
                   "call .float() before torch.export.export, and set precision.compute in the recipe")

    archive = Archive()
    x = archive.input("x", [4, 3])
    a = archive.parameter("a", [2, 3], payload="shared", values=[1.0] * 9)
    b = archive.parameter("b", [2, 3], payload="shared", storage_offset={"as_int": 3})
    archive.output(archive.op("mean.default", [], self=archive.op("linear.default", [4, 2], input=archive.op("linear.default", [4, 2], input=x, weight=a), weight=b)))
    expect_refused(archive.save(SCRATCH / "overlap.pt2"), "parameters 'a' and 'b' share some of their bytes, which is not supported",
                   "make one of them a view in forward")

    archive = Archive()
    x, wide = archive.input("x", [4, 3]), archive.buffer("wide", [1 << 28], values=[1.0], strides=[{"as_int": 0}])
    archive.output(archive.op("mean.default", [], self=archive.op("linear.default", [4, 2], input=x, weight=archive.parameter("w", [2, 3]))))
    expect_refused(archive.save(SCRATCH / "wide.pt2"), "a buffer of 268435456 elements, expected at most 134217728")

    archive = Archive()
    x, mask = archive.input("x", [4, 3]), archive.buffer("mask", [4, 3], kind=BOOL, values=[True] * 12)
    archive.output(archive.op("mean.default", [], self=archive.op("linear.default", [4, 2], input=x, weight=archive.parameter("w", [2, 3]))))
    expect_refused(archive.save(SCRATCH / "buffer.pt2", entries=lambda files: files.update({"data/weights/weight_0": ""})), "tensor 'mask' has no bytes in the archive")


@test
def schema():
    def first(key, value, index=0):
        def change(model, _):
            model["graph_module"]["graph"]["nodes"][index][key] = value
        return change

    def argument_is(value):
        def change(model, _):
            model["graph_module"]["graph"]["nodes"][1]["inputs"][0]["arg"] = value
        return change
    refuse_change(argument_is({"as_complex": 1}), "model.py:2: 'aten.mean.default': argument of kind 'as_complex' is not supported")
    refuse_change(argument_is({"as_int": "x"}), "argument 'as_int' that is not as the schema says")
    refuse_change(argument_is({"as_float": "x"}), "argument 'as_float' that is not as the schema says")
    refuse_change(argument_is({"as_string": 1}), "argument 'as_string' that is not as the schema says")
    refuse_change(argument_is({"as_graph": 1}), "argument 'as_graph' that is not as the schema says")
    refuse_change(argument_is({}), "argument, expected an object with one member")
    for size in ("as_sym_bool", "as_sym_float"):
        refuse_change(argument_is({size: {"as_name": "s"}}), "argument 'self' is no tensor")
    refuse_change(argument_is({"as_tensor": {}}), "tensor argument without 'name'")
    refuse_change(argument_is({"as_tensor": {"name": "other"}}), "model.py:2: 'aten.mean.default': 'other' has no value")
    refuse_change(first("inputs", [{}]), "input without 'name' or 'arg'")
    refuse_change(first("outputs", [{"as_sym_int": {"as_int": 1}}]), "model.py:2: 'aten.mean.default': 'linear_0' has no value")
    refuse_change(lambda model, _: model["graph_module"]["graph"]["nodes"].append(1), "node, expected an object")
    refuse_change(lambda model, _: model["graph_module"]["graph"]["nodes"].append({}), "node without 'target'")
    refuse_change(lambda model, _: model["graph_module"]["graph"].pop("nodes"), "graph without 'nodes' or 'tensor_values'")
    refuse_change(lambda model, _: model["graph_module"].pop("signature"), "program without 'graph_module.graph' or its 'signature'")

    def specs(kind, value):
        def change(model, _):
            model["graph_module"]["signature"][kind] = value
        return change
    refuse_change(specs("input_specs", None), "signature without 'input_specs' or 'output_specs'")
    refuse_change(specs("input_specs", [1]), "input, expected an object with one member")
    refuse_change(specs("input_specs", [{"parameter": 1}]), "input, expected an object")
    refuse_change(specs("input_specs", [{"custom_obj": {}}]), "input of kind 'custom_obj' is not supported")
    refuse_change(specs("input_specs", [{"parameter": {}}]), "input of kind 'parameter' without a name")
    refuse_change(specs("output_specs", [{"user_output": 1}]), "output, expected an object")
    refuse_change(specs("output_specs", [{"token": {}}]), "output of kind 'token' is not supported")
    refuse_change(specs("output_specs", [{"user_input_mutation": {}}]), "the forward writes to an input or a parameter, which is not supported")

    def untyped(name):
        def change(model, _):
            model["graph_module"]["graph"]["tensor_values"].pop(name)
        return change
    refuse_change(untyped("x"), ": input 'x' is no tensor")

    def typed(key, value):
        def change(model, _):
            model["graph_module"]["graph"]["tensor_values"]["x"][key] = value
        return change
    refuse_change(typed("layout", 1), "'x': sparse tensors are not supported")
    refuse_change(typed("sizes", [{"as_int": -1}, {"as_int": 3}]), "'x': tensor with sizes -1")
    refuse_change(typed("sizes", [{"as_int": 3}]), "'x': tensor with as many sizes as strides expected")
    refuse_change(typed("strides", None), "'x': tensor without 'strides'")
    for offset in (-1, 1 << 62):
        refuse_change(typed("storage_offset", {"as_int": offset}), f"'x': tensor with storage_offset {offset}")
    refuse_change(untyped("p_w"), "'w' has no type")
    refuse_change(untyped("linear_0"), "it has a result of unknown type")

    def wrong_shape(model, _):
        model["graph_module"]["graph"]["tensor_values"]["linear_0"]["sizes"] = [{"as_int": 4}, {"as_int": 5}]
    refuse_change(wrong_shape, "its result has the shape 4x2, but the archive states 4x5")


@test
def sizes():
    def size(expression):
        def change(model, _):
            for name in ("x", "linear_0"):
                model["graph_module"]["graph"]["tensor_values"][name]["sizes"][0] = {"as_expr": {"expr_str": expression, "hint": None}}
            model["range_constraints"] = {"s0": {"min_val": 1, "max_val": 64}} if "s0" in expression else {}
        return change
    refuse_change(size("s0"), "the archive has dynamic sizes without a value", "--set s0=SIZE, from 1 to 64, dim 0 of input 'x'; or --batch ROWS")
    for expression, wanted in (("s1 + 1", "'s1' has no value"), ("4 +", "expected a number or a symbol"), ("(4", "expected ')'"), ("4 4", "expected its end before"),
                               ("4 // 0", "expected a divisor above 0 but got 0"), ("Mod(4, 0)", "expected a divisor above 0"),
                               ("99999999999999999999", "it does not fit into 64 bits"), ("9223372036854775807 * 2", "it does not fit into 64 bits"),
                               ("(" * 200 + "4" + ")" * 200, "it nests more than 100 deep"), ("Pow(Integer(2), Integer(-1))", "expected an exponent from 0 to 63"), ("ceiling(4)", "function 'ceiling' is not supported")):
        refuse_change(size(expression), wanted)
    for expression, wanted in (("Symbol(s0)", "expected the name of a symbol"), ("Symbol('s0'", "expected ')'")):
        refuse_change(size(expression), wanted, options=["--set", "s0=4"])
    for expression in ("s0", "2*s0 - 4", "(s0 // 2) + Mod(s0, 3) + 1", "Max(s0, 2)", "-(-4)", "Min(s0, 99)", "FloorDiv(9, 2)", "s0 % 5", "Symbol('s0', positive=True, integer=True)",
                       "Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(-4))", "Pow(Integer(2), Integer(2))"):
        path = product().save(SCRATCH / "dynamic.pt2", size(expression))
        run("sluice-import", "export", path, "-o", SCRATCH / "dynamic.mlir", *(["--set", "s0=4"] if "s0" in expression else []))
        expect("model.batch = 4" in (SCRATCH / "dynamic.mlir").read_text(), f"{expression}: expected four rows")
    for options, wanted in ((["--set", "s0=65"], "size 's0', dim 0 of input 'x', expected from 1 to 64 but got 65"), (["--batch", "65"], "but got 65"),
                            (["--set", "s0=4", "--batch", "8"], "--batch 8: --set gives dim 0 of input 'x' the size 4"),
                            (["--set", "s7=4"], "--set s7: the archive has no such size, expected 's0'")):
        expect_refused(product().save(SCRATCH / "dynamic.pt2", size("s0")), wanted, options=options)
    expect_refused(product().save(SCRATCH / "static.pt2"), "--set s0: the archive has no such size, expected none, because all its sizes are static", options=["--set", "s0=4"])
    expect_refused(product().save(SCRATCH / "static.pt2"), "--batch: no input has a dynamic first dim", "export with dynamic_shapes, or with inputs of that many rows",
                   options=["--batch", "4"])
    for given in ("s0", "s0=x", "=4", "s0=0"):
        expect_refused(product().save(SCRATCH / "set.pt2"), "--set, expected SYMBOL=SIZE but got", options=["--set", given], code=2)


@test
def guards():
    def guarded(*guards):
        def change(model, _):
            model["guards_code"] = list(guards)
        return change
    run("sluice-import", "export", product().save(SCRATCH / "guard.pt2", guarded("L['x'].size()[0] == 4 and (L['x'].size()[1]*2) % 4 >= 2", "(2*(L['x'].size()[1])) == 6", "L['x'].size()[1] < 4",
                                                                                 "L['x'].size()[0] > 3", "L['x'].size()[0] <= 4", "L['x'].size()[0] != 3")),
        "-o", SCRATCH / "guard.mlir")
    for guard in ("L['x'].size()[0] == L['x'].size()[1]", "L['x'].size()[0] != 4", "(L['x'].size()[0] < 4) and 1 == 1", "L['x'].size()[1] >= 4"):
        refuse_change(guarded("1 == 1", guard), f"the sizes are not as the program needs them: {guard}")
    for guard, why in (("L['x'].stride()[0] == 1", "expected a size of an input"), ("L['y'].size()[0] == 1", "expected a size of an input"),
                       ("L['x'].size()[2] == 1", "expected a size of an input"), ("L[0].size()[2] == 1", "expected the name of an input"), ("not x", "'not' has no value")):
        done = run("sluice-import", "export", product().save(SCRATCH / "guard.pt2", guarded(guard)), "-o", SCRATCH / "guard.mlir")
        expect(f"warning: a condition of the program is not checked: {guard}: " in done.stderr and why in done.stderr, f"{guard}: expected a warning but got {done.stderr}")


@test
def losses_and_inputs():
    archive = product()
    archive.outputs = [(archive.outputs[0][0], "a"), (Value("linear_0"), "b")]
    path = archive.save(SCRATCH / "named.pt2")
    run("sluice-import", "export", path, "-o", SCRATCH / "named.mlir")
    expect_refused(path, "no output is the loss: there is no 'c'; the outputs are 'a', 'b'", "name it with --loss, or return {\"loss\": ...} from forward",
                   options=["--loss", "c"])
    expect_refused(path, "output 'b' is no scalar of floats, as a loss must be", options=["--loss", "b"])
    two = product()
    two.outputs = [(two.outputs[0][0], "a"), (two.outputs[0][0], "b")]
    expect_refused(two.save(SCRATCH / "two.pt2"), "no output is the loss; the outputs are 'a', 'b'")
    none = product()
    none.outputs = []
    expect_refused(none.save(SCRATCH / "none.pt2"), "no output is the loss; the outputs are none")
    constant = Archive()
    constant.output(constant.op("mean.default", [], self=constant.op("ones.default", [3], size=[3])))
    constant.output(constant.op("ones.default", [], size=[]), "loss")
    expect_refused(constant.save(SCRATCH / "constant.pt2"), "the loss depends on no input and no parameter")
    tokens = product().save(SCRATCH / "tokens.pt2")
    expect_refused(tokens, "--inputs z: the archive has no such input", options=["--inputs", "z=tokens:5"])
    expect_refused(tokens, "--inputs x=tokens: the input is of type float32", options=["--inputs", "x=tokens:5"])
    for given in ("x", "x=tokens:0", "x=float", "=tokens:4"):
        expect_refused(tokens, "--inputs, expected NAME=tokens:VOCABULARY but got", options=["--inputs", given], code=2)
    rows = Archive()
    x, y, w = rows.input("x", [4, 3]), rows.input("y", [2]), rows.parameter("w", [2, 3])
    z = rows.op("add.Tensor", [4, 2], self=rows.op("linear.default", [4, 2], input=x, weight=w), other=y)
    rows.output(rows.op("mean.default", [], self=z))
    expect_refused(rows.save(SCRATCH / "rows.pt2"), "input 'x' has the shape [4x3], but the first dim of each input is the rows of the batch")
    expect_refused(tokens, "--dropout, expected a number from 0 to 1 (below 1) but got 2", options=["--dropout", "2"], code=2)


@test
def ops_that_are_not_supported():
    archive = Archive()
    x, w = archive.input("x", [4, 3]), archive.parameter("w", [2, 3])
    y = archive.op("linear.default", [4, 2], input=x, weight=w)
    for _ in range(2):
        y = archive.op("sort_of.default", [4, 2], module="layers.0", source="y = sort_of(y)", self=y)
    archive.nodes[2]["metadata"] = archive.nodes[1]["metadata"]
    z = archive.op("torch.ops.mine.fused.default", [4, 2], source="z = fused(y)", x=archive.op("linear.default", [4, 2], input=x, weight=w))
    archive.output(archive.op("mean.default", [], self=archive.op("add.Tensor", [4, 2], self=y, other=z)))
    expect_refused(archive.save(SCRATCH / "ops.pt2"), "error: ", "model.py:2: 'aten.sort_of.default': it is not supported, in 'layers.0'",
                   "note: model.py:2: y = sort_of(y)", "note: model.py:5: 'torch.ops.mine.fused.default': it is not supported",
                   "note: write the module with ops of torch alone")
    for target, remedy in (("higher_order.cond", "write the module without data-dependent control flow"),
                           ("higher_order.wrap_with_autocast", "remove torch.autocast from the module and set precision.compute in the recipe")):
        refuse_op(target, f"'torch.ops.{target}': it is not supported", remedy, x=y_of)
    refuse_op("higher_order.wrap_with_set_grad_enabled", "it is not as the schema says", x=y_of)
    # What the loss does not depend on is no obstacle.
    dead = product()
    dead.op("sort_of.default", [4, 2], self=Value("linear_0"))
    run("sluice-import", "export", dead.save(SCRATCH / "dead.pt2"), "-o", SCRATCH / "dead.mlir")


@test
def arguments_that_are_not_supported():
    ones = lambda sizes, kind=F32: lambda archive, _: archive.op("ones.default", list(sizes), kind, size=list(sizes))
    refuse_op("clamp.default", "model.py:2: 'aten.clamp.default': clamp with a 'min' above its 'max'", "model.py:2: z = op(y)", self=y_of, min=2.0, max=1.0)
    refuse_op("softplus.default", "softplus with a beta of 0 or less", self=y_of, beta=0.0)
    refuse_op("dropout.default", "dropout of every element", input=y_of, p=1.0, train=True)
    refuse_op("permute.default", "argument 'dims' is no permutation", self=y_of, dims=[0, 0])
    refuse_op("slice.Tensor", "slice with a step below 1", self=y_of, dim=0, step=0)
    refuse_op("roll.default", "roll without a dim for each shift", self=y_of, shifts=[1, 2])
    refuse_op("pad.default", "padding of mode 'mirror'", self=y_of, pad=[0, 0], mode="mirror")
    for mode, pad in (("reflect", [0, 2]), ("circular", [3, 0])):
        refuse_op("pad.default", f"padding of mode '{mode}' of more elements than there are", self=y_of, pad=pad, mode=mode)
    refuse_op("repeat_interleave.self_int", "repeat_interleave of a scalar", sizes=[2], self=lambda archive, y: archive.op("mean.default", [], self=y), repeats=2, dim=0)
    refuse_op("diff.default", "a difference of a scalar", sizes=[], self=lambda archive, y: archive.op("mean.default", [], self=y))
    refuse_op("diff.default", "a difference of no elements", sizes=[0], self=lambda archive, y: archive.op("slice.Tensor", [0], self=viewed(8)(archive, y), dim=0, end=0))
    refuse_op("bernoulli.p", "random zeros only", self=y_of, p=0.0)
    refuse_op("randint.low", "a range of random integers of no or of more than 2^20 numbers", sizes=[4], kind=I64, low=3, high=3, size=[4])
    refuse_op("randint_like.default", "a range of random integers of no or of more than 2^20 numbers", self=y_of, high=2**20 + 1)
    refuse_op("rand.default", "random numbers of this element type", sizes=[4], kind=I64, size=[4])
    refuse_op("mvlgamma.default", "mvlgamma of a dimension that is not 1 to 64", self=y_of, p=0)
    refuse_op("polygamma.default", "polygamma of an order above 0", self=y_of, n=1)
    refuse_op("pad.default", "argument 'pad' is no list of pairs", self=y_of, pad=[1])
    refuse_op("repeat.default", "argument 'repeats' has fewer numbers than the tensor dims", self=y_of, repeats=[2])
    refuse_op("amax.default", "a reduction of integers", "cast them to float32 before", sizes=[], kind=I64, self=ones([4], I64), dim=[0])
    refuse_op("argmax.default", "argmax without a dim", sizes=[], kind=I64, self=y_of)
    refuse_op("softmax.int", "argument 'dim' is 2 for a tensor of rank 2", self=y_of, dim=2)
    refuse_op("mean.dim", "argument 'dim' is 3 for a tensor of rank 2", sizes=[4], self=y_of, dim=[3])
    refuse_op("layer_norm.default", "argument 'normalized_shape' does not fit to the tensor", input=y_of, normalized_shape=[])
    refuse_op("embedding.default", "embedding with 'sparse' or 'scale_grad_by_freq'", "leave the argument out", sizes=[4, 2], weight=y_of,
              indices=ones([4], I64), sparse=True)
    scalar = lambda archive, y: archive.op("mean.default", [], self=y)
    refuse_op("rot90.default", "it exchanges dims 0 and 5 of a tensor of rank 2", self=y_of, k=3, dims=[0, 5])
    refuse_op("slice.Tensor", "it takes a part of a scalar", sizes=[], self=scalar, dim=0)
    refuse_op("stack.default", "stack of no dim", sizes=[], tensors=lambda archive, y: [scalar(archive, y)])
    refuse_op("select.int", "it takes a part of a scalar", sizes=[], self=scalar, dim=0, index=0)
    refuse_op("unbind.int", "it takes a part of a scalar", sizes=[[]], self=scalar)
    refuse_op("matmul.default", "matmul of a scalar", self=y_of, other=lambda archive, y: archive.op("mean.default", [], self=y))
    refuse_op("mse_loss.default", "an unknown reduction", sizes=[], self=y_of, target=y_of, reduction=7)
    refuse_op("scaled_dot_product_attention.default", "attention of tensors of different ranks", query=y_of, key=y_of, value=ones([2]))
    refuse_op("cat.default", "cat of empty vectors only", sizes=[0], tensors=lambda archive, y: [archive.op("slice.Tensor", [0], self=archive.op("view.default", [8], self=y, size=[8]), dim=0, end=0)])


def viewed(*sizes):
    """y in another shape."""
    return lambda archive, y: archive.op("view.default", list(sizes), self=y, size=list(sizes))


def ones(*sizes, kind=F32):
    return lambda archive, _: archive.op("ones.default", list(sizes), kind, size=list(sizes))


@test
def images():
    refuse_op("conv2d.default", "an operand of rank 2, expected 3 or 4", input=y_of, weight=ones(1, 1, 1, 1))
    refuse_op("conv2d.default", "a weight of rank 3, expected 4", input=viewed(4, 2, 1, 1), weight=ones(1, 2, 1))
    refuse_op("conv2d.default", "argument 'stride' has 3 numbers, expected 2", input=viewed(4, 2, 1, 1), weight=ones(1, 2, 1, 1), stride=[1, 1, 1])
    refuse_op("conv1d.default", "argument 'padding' has 2 numbers, expected 1", input=viewed(4, 2, 1), weight=ones(1, 2, 1), padding=[1, 1])
    refuse_op("conv2d.default", "weight has the wrong number of input channels, expected 2 but got 3", input=viewed(4, 2, 1, 1), weight=ones(1, 3, 1, 1))
    refuse_op("conv2d.padding", "padding 'full'", input=viewed(4, 2, 1, 1), weight=ones(1, 2, 1, 1), padding="full")
    refuse_op("conv_transpose2d.input", "a transposed convolution without a result", input=viewed(4, 2, 1, 1), weight=ones(2, 1, 1, 1), padding=[1, 1])
    refuse_op("conv_transpose1d.default", "its result has the shape 4x1x3, but the archive states 4x2", input=viewed(4, 1, 2), weight=ones(1, 1, 1), output_padding=[1])
    refuse_op("max_pool2d.default", "a stride below 1", self=viewed(4, 2, 1, 1), kernel_size=[1, 1], stride=[0, 1])
    no_statistics = {"running_mean": None, "running_var": None}
    batch = {"weight": None, "bias": None, **no_statistics, "training": True, "momentum": 0.1, "eps": 1e-5, "cudnn_enabled": True}
    refuse_op("batch_norm.default", "batch norm of a tensor of rank 1, expected 2 or more", sizes=[8], input=viewed(8), **batch)
    refuse_op("batch_norm.default", "argument 'weight' does not have a number for each channel", input=y_of, **{**batch, "weight": ones(3)})
    refuse_op("batch_norm.default", "batch norm without running statistics outside of training", input=y_of, **{**batch, "training": False})
    mean = lambda archive, _: archive.buffer("mean", [8], [0.5] * 8)
    refuse_op("batch_norm.default", "batch norm of one value for each channel", "give it more rows or positions", sizes=[1, 8], input=viewed(1, 8),
              **{**batch, "running_mean": mean, "running_var": lambda archive, _: archive.buffer("var", [8], [0.5] * 8)})
    refuse_op("batch_norm.default", "argument 'running_mean' is no buffer, and the op writes to it", input=y_of, **{**batch, "running_mean": ones(2), "running_var": ones(2)})
    refuse_op("group_norm.default", "groups that do not divide the channels", input=y_of, num_groups=3)
    instance = {"weight": None, "bias": None, "momentum": 0.1, "eps": 1e-5, "cudnn_enabled": True}
    refuse_op("instance_norm.default", "instance norm with running statistics", "set track_running_stats=False", sizes=[2, 2, 2], input=viewed(2, 2, 2),
              running_mean=ones(2), running_var=ones(2), use_input_stats=True, **instance)


@test
def recurrences():
    def network(op, *texts, sizes=(4, 2, 1), parameters=((4, 1), (4, 1)), hx=((1, 2, 1), (1, 2, 1)), layers=1, biases=False):
        state = lambda archive, y: [ones(*shape)(archive, y) for shape in hx] if op.startswith("lstm") else ones(*hx[0])(archive, y)
        refuse_op(op, *texts, sizes=[list(sizes)], input=viewed(*sizes), hx=state, params=lambda archive, y: [ones(*shape)(archive, y) for shape in parameters],
                  has_biases=biases, num_layers=layers, dropout=0.0, train=True, bidirectional=False, batch_first=False)
    network("lstm.input", "weights of 3 rows, expected a multiple of 4", parameters=((3, 1), (3, 1)))
    network("lstm.input", "a number of weights that does not fit to its layers", biases=True)
    network("gru.input", "a number of weights that does not fit to its layers", layers=0)
    network("lstm.input", "an operand of rank 2, expected 3", sizes=(4, 2))
    network("lstm.input", "an initial state that does not fit to its layers", hx=((2, 2, 1), (1, 2, 1)))
    network("lstm.input", "an initial state of 1 tensors, expected 2", hx=((1, 2, 1),))
    network("rnn_tanh.input", "a weight that is no matrix", parameters=((4,), (4, 1)))
    archive = Archive()
    x, w, u = archive.input("x", [513, 2, 1]), archive.parameter("w", [1, 1]), archive.parameter("u", [1, 1])
    state = archive.op("zeros.default", [1, 2, 1], size=[1, 2, 1])
    y = archive.op("rnn_tanh.input", [[513, 2, 1], [1, 2, 1]], input=x, hx=state, params=[w, u], has_biases=False, num_layers=1, dropout=0.0, train=True, bidirectional=False,
                   batch_first=False)
    archive.output(archive.op("mean.default", [], self=y[0]))
    expect_refused(archive.save(SCRATCH / "steps.pt2"), "a recurrence of 513 steps, expected 1 to 512", "divide the sequence into shorter ones")
    refuse_op("lstm_cell.default", "an initial state of 1 tensors, expected 2", sizes=[[4, 2]], input=y_of, hx=lambda archive, y: [y], w_ih=ones(8, 2), w_hh=ones(8, 2))
    refuse_op("gru_cell.default", "a cell on operands that are no matrices", sizes=[8], input=viewed(8), hx=y_of, w_ih=ones(6, 2), w_hh=ones(6, 2))


def layer(build, **sizes):
    """The mean of build(archive, y), with y = x w of shape [4, 2]."""
    archive = Archive()
    x = archive.input("x", [4, 3])
    y = archive.op("linear.default", [4, 2], input=x, weight=archive.parameter("w", [2, 3]))
    archive.output(archive.op("mean.default", [], self=build(archive, y)))
    return archive


@test
def numbers_that_depend_on_data():
    def change(model, _, symbol="u0"):
        graph = model["graph_module"]["graph"]
        graph["nodes"].insert(0, {"target": "torch.ops.aten.item.default", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}],
                                  "outputs": [{"as_sym_int": {"as_name": "item"}}], "metadata": {"stack_trace": 'File "model.py", line 9, in forward\n    k = x.item()'}, "name": "item"})
        graph["sym_int_values"] = {"item": {"as_expr": {"expr_str": f"Symbol('{symbol}', integer=True)", "hint": None}}}
        model["range_constraints"] = {symbol: {"min_val": 1, "max_val": 8}}
    refuse_change(change, "model.py:9: 'aten.item.default': a number or a size that depends on data", "keep it a tensor")
    for symbol in ("u0", "zuf0"):
        refuse_change(functools.partial(change, symbol=symbol), f"--set {symbol}: the archive has no such size", options=["--set", f"{symbol}=3"])


@test
def first_dims_of_expressions():
    """A batch of two halves."""
    def halves(model, _):
        for name in ("x", "linear_0"):
            model["graph_module"]["graph"]["tensor_values"][name]["sizes"][0] = {"as_expr": {"expr_str": "Mul(Integer(2), Symbol('s4', positive=True, integer=True))", "hint": None}}
        model["range_constraints"] = {"s4": {"min_val": 1, "max_val": 64}, "2*s4": {"min_val": 2, "max_val": 128}}
    for options in (["--batch", "4"], ["--set", "s4=2"], ["--set", "s4=2", "--batch", "4"]):
        run("sluice-import", "export", product().save(SCRATCH / "halves.pt2", halves), "-o", SCRATCH / "halves.mlir", *options)
        expect("model.batch = 4" in (SCRATCH / "halves.mlir").read_text(), f"{options}: expected four rows")
    refuse_change(halves, "--batch 3: no size gives the first dim 'Mul(Integer(2), Symbol('s4', positive=True, integer=True))' of an input that many rows", options=["--batch", "3"])
    refuse_change(halves, "--batch 4: no size gives the first dim", options=["--batch", "4", "--set", "s4=3"])

    def unlimited(model, _):
        halves(model, _)
        model["range_constraints"]["s4"] = {"min_val": 1, "max_val": None}
    refuse_change(unlimited, "--batch 1073741823: no size gives the first dim", options=["--batch", str((1 << 30) - 1)])


@test
def buffers_that_share_bytes():
    archive = Archive()
    x, whole = archive.input("x", [4, 3]), archive.buffer("whole", [2, 2], [0.0] * 4, payload="shared")
    part = archive.buffer("part", [2], payload="shared", storage_offset={"as_int": 2})
    y = archive.op("linear.default", [4, 2], input=x, weight=archive.parameter("w", [2, 3]))
    archive.op("add_.Tensor", [2], self=part, other=1.0)
    archive.output(archive.op("mean.default", [], self=archive.op("add.Tensor", [4, 2], self=y, other=archive.op("select.int", [2], self=whole, dim=0, index=0))))
    expect_refused(archive.save(SCRATCH / "shared.pt2"), "the forward writes to the buffer 'part', which shares its bytes with 'whole'",
                   "register one of them, and make the other a view in forward")


@test
def integers_that_wrap_around():
    as_u8 = lambda archive, y: archive.op("gt.Scalar", [4, 2], BOOL, self=y, other=0.0)
    plus = lambda value: lambda archive, y: archive.op("mul.Tensor", [4, 2], U8, self=archive.op("to.dtype", [4, 2], U8, self=as_u8(archive, y), dtype={"as_scalar_type": U8}), other=value)
    expect_refused(layer(plus(300)).save(SCRATCH / "u8.pt2"), "argument 'other' does not fit into the type of its tensor", "cast the tensor before")
    cast = lambda archive, y: archive.op("to.dtype", [4, 2], U8, self=y, dtype={"as_scalar_type": U8})
    expect_refused(layer(lambda archive, y: archive.op("to.dtype", [4, 2], self=cast(archive, y), dtype={"as_scalar_type": F32})).save(SCRATCH / "cast.pt2"), "a cast to uint8",
                   "compare with a number, or cast to torch.int32")


@test
def losses_in_f64():
    """A plan has a loss in f32."""
    model = SCRATCH / "wide.mlir"
    run("sluice-import", "export", product(F64).save(SCRATCH / "wide.pt2"), "-o", model)
    done = train(Plan(model).check(), "--init", SCRATCH / "wide.pt2", data="random:3", steps=2)
    expect(len(done.loss) == 2 and done.loss[0] != done.loss[1], f"losses {done.loss}")


@test
def lists_of_no_value():
    for name in ("as_tensor", "as_int", "as_bool", "as_float", "as_scalar_type", "as_sym_int", "as_string", "as_graph"):
        def empty(model, _):
            model["graph_module"]["graph"]["nodes"][1]["inputs"][0]["arg"] = {name: []}
        refuse_change(empty, f"argument '{name}' that is not as the schema says")
    refuse_change(lambda model, _: model["graph_module"]["graph"]["nodes"][1]["inputs"][0].update(arg={"as_tensor": {"name": ""}}), "tensor argument without 'name'")
    refuse_op("scaled_dot_product_attention.default", "dropout of every element", query=viewed(1, 1, 4, 2), key=viewed(1, 1, 4, 2), value=viewed(1, 1, 4, 2), dropout_p=1.0,
              sizes=[1, 1, 4, 2])


@test
def globs_without_a_module():
    done = run("sluice-import", "export", product().save(SCRATCH / "globs.pt2"), "-o", SCRATCH / "globs.mlir", "--blocks", "zzz*")
    expect("warning: --blocks zzz* matches no module" in done.stderr, done.stderr)


@test
def contractions_and_sums():
    def contract(equation, *texts, tensors=lambda archive, y: [y], sizes=(2, 2)):
        refuse_op("einsum.default", *texts, sizes=list(sizes), equation=equation, tensors=tensors)
    remedy = "write each dim of each operand, and the dims of the result"
    for equation in ("...i->i", "ij", "ii->i", "i,j->ij"):
        contract(equation, "einsum with '...', with a dim twice in an operand, or without '->'", remedy)
    contract("i->i", "einsum with 1 dims of an operand of rank 2")
    contract("ij->ijk", "einsum with a dim of the result that no operand has")
    contract("ij,ij->i", "einsum of dims of one name with different sizes", tensors=lambda archive, y: [y, ones(2, 3)(archive, y)])
    refuse_op("glu.default", "glu of a dim of 1 elements", sizes=[4, 1], self=viewed(8, 1), dim=1)
    refuse_op("prelu.default", "prelu with a weight that is neither one number nor one for each channel", self=y_of, weight=ones(2, 2))
    refuse_op("var.correction", "a variance of no more elements than its correction", sizes=[4, 2], self=viewed(4, 2, 1), dim=[2])


@test
def indices():
    given = lambda *builds: lambda archive, y: {"as_optional_tensors": [{"as_tensor": {"name": build(archive, y)}} for build in builds]}
    index = ones(2, kind=I64)
    refuse_op("index.Tensor", "more indices than dims", sizes=[2], self=y_of, indices=given(index, index, index))
    refuse_op("index.Tensor", "a result without the dims that have no index", sizes=[], self=y_of, indices=given(index))
    refuse_op("index.Tensor", "an index of booleans, whose number of elements depends on the data", "use torch.where", sizes=[2, 2], self=y_of, indices=given(ones(4, kind=BOOL)))
    refuse_op("index.Tensor", "an index of more dims than the result", sizes=[2, 2], self=y_of, indices=given(ones(2, 1, kind=I64)))
    scalar = lambda archive, y: archive.op("mean.default", [], self=y)
    refuse_op("embedding.default", "it takes a part of a scalar", sizes=[2, 2], weight=scalar_of, indices=index)
    refuse_op("bitwise_and.Tensor", "bits of integers", kind=I64, self=ones(4, 2, kind=I64), other=lambda archive, y: archive.op("to.dtype", [4, 2], I64, self=y, dtype={"as_scalar_type": I64}))


def scalar_of(archive, y):
    return archive.op("mean.default", [], self=y)


def whole(archive, y):
    return archive.op("to.dtype", [4, 2], I64, self=y, dtype={"as_scalar_type": I64})


@test
def patterns_of_elements():
    refuse_op("rot90.default", "rot90 without two dims", self=y_of, dims=[0])
    refuse_op("diagonal.default", "a diagonal of fewer than two dims", self=y_of)
    refuse_op("trace.default", "a trace of no matrix", sizes=[], self=viewed(8))
    refuse_op("diag_embed.default", "a diagonal of no dim", sizes=[4, 4], self=y_of)
    refuse_op("diag.default", "a diagonal of no matrix", sizes=[2], self=viewed(2, 2, 2))
    refuse_op("select_scatter.default", "a source of another shape than the part that it replaces", self=y_of, src=ones(3), dim=0, index=0)
    refuse_op("select_scatter.default", "a part outside of its tensor", self=y_of, src=ones(2), dim=0, index=4)
    refuse_op("select_scatter.default", "it takes a part of a scalar", sizes=[], self=scalar_of, src=ones(), dim=0, index=0)
    refuse_op("slice_scatter.default", "it takes a part of a scalar", sizes=[], self=scalar_of, src=ones())
    refuse_op("slice_scatter.default", "slice with a step below 1", self=y_of, src=y_of, step=0)
    refuse_op("as_strided.default", "as_strided without a stride for each size", self=y_of, size=[4, 2], stride=[1])
    refuse_op("as_strided.default", "a part outside of its tensor", self=y_of, size=[4, 2], stride=[2, 2])
    refuse_op("tril.default", "a triangle of no matrix", sizes=[8], self=viewed(8))
    refuse_op("unfold.default", "windows of no elements, or of more than there are", sizes=[4, 1, 3], self=y_of, dimension=1, size=3, step=1)
    windows = {"kernel_size": [1, 1], "dilation": [1, 1], "padding": [0, 0], "stride": [1, 1]}
    refuse_op("im2col.default", "windows of no images", self=y_of, **windows)
    refuse_op("im2col.default", "windows of no images", sizes=[2, 4], self=viewed(2, 2, 2), **{**windows, "stride": [1]})
    refuse_op("col2im.default", "windows of no images", self=y_of, output_size=[2, 2], **windows)
    refuse_op("pixel_shuffle.default", "pixel_shuffle of no images", self=y_of, upscale_factor=1)
    refuse_op("pixel_shuffle.default", "pixel_shuffle by a factor that does not divide the extent", sizes=[1, 4, 4], self=viewed(2, 2, 2), upscale_factor=2)
    refuse_op("channel_shuffle.default", "channel_shuffle by groups that do not divide the channels", self=y_of, groups=3)
    refuse_op("combinations.default", "combinations of no vector, or of no elements", self=y_of)
    refuse_op("combinations.default", "more than 2^20 combinations, or none", sizes=[0, 2], self=viewed(8))
    refuse_op("flip.default", "a part of an empty dim", sizes=[4, 0], dims=[1], self=lambda archive, y: archive.op("slice.Tensor", [4, 0], self=y, dim=1, start=2))
    refuse_op("movedim.intlist", "movedim with another number of places than dims", self=y_of, source_=[0], destination=[0, 1])
    refuse_op("movedim.intlist", "movedim of a dim that the tensor has not", self=y_of, source_=[2], destination=[0])
    refuse_op("meshgrid.default", "a grid of fewer dims than vectors", sizes=[[8], [8]], tensors=lambda archive, y: [viewed(8)(archive, y), viewed(8)(archive, y)])


@test
def orders_and_writes_by_index():
    index = ones(2, 2, kind=I64)
    refuse_op("sort.default", "argument 'dim' is 2 for a tensor of rank 2", sizes=[[4, 2], [4, 2]], self=y_of, dim=2)
    refuse_op("sort.default", "an order of 1025 elements, of at most 1024", sizes=[[1025], [1025]], self=ones(1025))
    refuse_op("topk.default", "topk of no elements, or of more than there are", sizes=[[4, 3], [4, 3]], self=y_of, k=3)
    refuse_op("kthvalue.default", "kthvalue of an element that is not there", sizes=[[4], [4]], self=y_of, k=0)
    refuse_op("prod.default", "a product of integers", "cast them to float32 before", sizes=[], kind=I64, self=whole)
    refuse_op("expm1.default", "a function that is not of float32 or a narrower type", "cast its operand to float32", kind=F64,
              self=lambda archive, y: archive.op("to.dtype", [4, 2], F64, self=y, dtype={"as_scalar_type": F64}))
    for op, given in (("scatter_add.default", {"src": whole}), ("scatter.src", {"src": whole}), ("scatter.value", {"value": 1}), ("scatter_reduce.two", {"src": whole, "reduce": "sum"})):
        refuse_op(op, "integers that are written by index", kind=I64, self=whole, dim=0, index=index, **given)
    refuse_op("index_add.default", "integers that are written by index", kind=I64, self=whole, dim=0, index=ones(4, kind=I64), source_=whole)
    refuse_op("put.default", "integers that are written by index", kind=I64, self=whole, index=ones(8, kind=I64), source_=whole)
    refuse_op("take.default", "integers that are taken by index", kind=I64, self=whole, index=index)
    refuse_op("scatter.src", "a source of another rank than the index", self=y_of, dim=0, index=index, src=viewed(8))
    refuse_op("scatter_reduce.two", "scatter_reduce by 'amax'", self=y_of, dim=0, index=index, src=y_of, reduce="amax")
    some = lambda *builds: lambda archive, y: {"as_optional_tensors": [{"as_tensor": {"name": build(archive, y)}} if build else {"as_none": True} for build in builds]}
    refuse_op("index_put.default", "a write by index that leaves dims out before others", self=y_of, indices=some(None, ones(2, kind=I64)), values=ones(2))
    refuse_op("index_put.default", "an index of booleans, whose number of elements depends on the data", "use torch.where", self=y_of, indices=some(ones(4, 2, kind=BOOL)), values=ones(2))
    refuse_op("index_put.default", "a write by index without an index", self=y_of, indices=[], values=ones(2))
    refuse_op("take_along_dim.default", "take_along_dim with an index of another rank", self=y_of, indices=ones(2, kind=I64), dim=0)
    refuse_op("max_unpool2d.default", "max_unpool of no images", self=y_of, indices=index, output_size=[2, 2])
    refuse_op("masked_scatter.default", "masked_scatter of no elements, or of more than 2048", "use torch.where", sizes=[2049], self=ones(2049), mask=ones(2049, kind=BOOL), source_=ones(2049))


@test
def images_and_distances():
    refuse_op("upsample_linear1d.vec", "no images", self=y_of, input=y_of, output_size=[2, 2, 2], align_corners=False, scale_factors=None, sizes=[2])
    refuse_op("upsample_linear1d.vec", "windows or pixels of a dim with more than 2^20 coefficients, or none", input=viewed(4, 2, 1), output_size=[0], align_corners=False, scale_factors=None, sizes=[4, 2, 0])
    refuse_op("avg_pool3d.default", "argument 'kernel_size' has not one number for each dim", sizes=[2, 2, 1, 1], self=viewed(2, 2, 2, 1), kernel_size=[1, 1])
    refuse_op("max_pool2d.default", "windows or pixels of a dim with more than 2^20 coefficients, or none", self=viewed(2, 1, 2, 2), kernel_size=[1 << 40, 1], dilation=[2, 1],
              sizes=[2, 1, 2, 2])
    refuse_op("avg_pool3d.default", "no images", self=y_of, kernel_size=[1, 1, 1])
    refuse_op("pairwise_distance.default", "a distance of scalars", sizes=[], x1=scalar_of, x2=scalar_of)
    refuse_op("cdist.default", "cdist of vectors", sizes=[], x1=viewed(8), x2=viewed(8))
    refuse_op("pdist.default", "pdist of fewer than two rows", sizes=[0], self=viewed(1, 8))
    refuse_op("cosine_embedding_loss.default", "cosine_embedding_loss of another rank than that of the target and one dim", sizes=[], input1=y_of, input2=y_of, target=y_of)
    refuse_op("trapezoid.dx", "an area of fewer than two elements", sizes=[8], y=viewed(8, 1), dx=1.0)
    refuse_op("multi_margin_loss.default", "multi_margin_loss of an order other than 1 and 2", sizes=[], self=y_of, target=ones(4, kind=I64), p=3)
    refuse_op("rrelu.default", "rrelu in training", "use leaky_relu", self=y_of, training=True)
    refuse_op("nan_to_num.default", "nan_to_num of another type than float32 and float64", kind=F16,
              self=lambda archive, y: archive.op("to.dtype", [4, 2], F16, self=y, dtype={"as_scalar_type": F16}))
    refuse_op("linear.default", "linear of a scalar", sizes=[], input=scalar_of, weight=ones(2))
    refuse_op("mv.default", "a product of no matrix and vector", sizes=[4], self=y_of, vec=y_of)
    refuse_op("tensordot.default", "tensordot over another number of dims of each tensor", self=y_of, other=y_of, dims_self=[0], dims_other=[])
    refuse_op("cross.default", "cross of a dim of other than three elements", self=y_of, other=y_of)
    refuse_op("bilinear.default", "bilinear of scalars", sizes=[1], input1=scalar_of, input2=scalar_of, weight=ones(1, 1, 1))
    refuse_op("cross_entropy_loss.default", "a loss of classes of a scalar", sizes=[], self=scalar_of, target=ones(kind=I64))
    nothing = lambda archive, y: archive.op("slice.Tensor", [4, 0], self=y, dim=1, start=2)
    refuse_op("inner.default", "a product over no elements", sizes=[4, 4], self=nothing, other=nothing)


@test
def element_types():
    """An element type is named as torch prints it."""
    for number, name in ((2, "int8"), (3, "int16"), (28, "uint16"), (29, "float8_e4m3fn"), (30, "float8_e5m2"), (34, "uint32"), (35, "uint64"), (99, "number 99")):
        def change(model, _):
            model["graph_module"]["graph"]["tensor_values"]["x"]["dtype"] = number
        refuse_change(change, f"element type {name} is not supported: use a float of 16 to 64 bits, int32, int64, uint8 or bool")


@test
def remedies():
    for op, remedy in (
                       ("feature_dropout.default", "use torch.nn.functional.dropout"), ("masked_select.default", "use torch.where, which keeps the number of elements"),
                       ("conv3d.default", "use conv2d on slices of the depth"), ("index_reduce.default", "use torch.Tensor.index_add"), ("histc.default", "compute it outside of the module"),
                       ("embedding_bag.default", "use torch.nn.functional.embedding and a sum or mean"), ("to_sparse.default", "use a dense tensor")):
        refuse_op(op, f"'aten.{op}': it is not supported", f"note: {remedy}", self=y_of)


@test
def arguments_of_other_kinds():
    refuse_op("relu.default", "model.py:2: 'aten.relu.default': argument 'self' is no tensor", self=1)
    refuse_op("pow.Tensor_Scalar", "argument 'exponent' is no number", self=y_of, exponent="x")
    refuse_op("clamp_min.default", "argument 'min' is None", self=y_of, min=None)
    refuse_op("softmax.int", "argument 'dim' is no integer", self=y_of, dim=0.5)
    refuse_op("permute.default", "argument 'dims' is no list of integers", self=y_of, dims=0.5)
    refuse_op("gelu.default", "argument 'approximate' is no string", self=y_of, approximate=1)
    refuse_op("softmax.int", "argument 'dim' is missing", self=y_of)
    refuse_op("cat.default", "argument 'tensors' is an empty list", tensors=[])
    refuse_op("cat.default", "argument 'tensors' has an absent tensor", tensors={"as_optional_tensors": [{"as_none": True}]})


@test
def writes():
    def write(build, *texts):
        archive = Archive()
        x, w = archive.input("x", [4, 3]), archive.parameter("w", [2, 3])
        y = archive.op("linear.default", [4, 2], input=x, weight=w)
        build(archive, x, w, y)
        archive.output(archive.op("mean.default", [], self=y))
        expect_refused(archive.save(SCRATCH / "writes.pt2"), *texts)

    def to_input(archive, x, w, y):
        archive.nodes.pop()
        archive.op("mul_.Tensor", [4, 3], source="x *= 2", self=x, other=2.0)
        archive.op("linear.default", [4, 2], input=Value("mul__0"), weight=w)
        archive.nodes[-1]["outputs"] = [{"as_tensor": {"name": y}}]
    write(to_input, "it writes to the input 'x'", "write the result to a new tensor", "model.py:1: x *= 2")

    def to_parameter(archive, x, w, y):
        archive.nodes.pop()
        archive.op("linear.default", [4, 2], input=x, weight=archive.op("mul_.Tensor", [2, 3], self=w, other=2.0))
        archive.nodes[-1]["outputs"] = [{"as_tensor": {"name": y}}]
    write(to_parameter, "it writes to the parameter 'w'")

    def view(target, sizes, *texts, **arguments):
        archive = Archive()
        x, w = archive.input("x", [4, 3]), archive.parameter("w", [2, 3])
        y = archive.op("linear.default", [4, 2], input=x, weight=w)
        part = archive.op(target, sizes, self=y, **arguments)
        archive.op("mul_.Tensor", sizes, self=part, other=2.0)
        archive.output(archive.op("mean.default", [], self=y))
        expect_refused(archive.save(SCRATCH / "view.pt2"), *texts)
    # The write is an obstacle because the loss reads its storage.
    view("expand.default", [3, 4, 2], "it writes to a view by 'expand.default'", "write the result to a new tensor", size=[3, 4, 2])
    view("slice.Tensor", [2, 2], "a write to every second element of a dim, or fewer", dim=0, step=2)

    archive, inner = Archive(), Graph()
    x, w = archive.input("x", [4, 3]), archive.parameter("w", [2, 3])
    y = archive.op("linear.default", [4, 2], input=x, weight=w)
    inner.inputs.append("y")
    written = inner.op("mul_.Tensor", [4, 2], self=inner.value("y", [4, 2]), other=2.0)
    archive.op("higher_order.wrap_with_set_grad_enabled", [4, 2], **{"": False, " ": {"as_graph": {"name": "g", "graph": inner.json([written])}}, "  ": y})
    archive.output(archive.op("mean.default", [], self=y))
    expect_refused(archive.save(SCRATCH / "region.pt2"), "model.py:1: 'aten.mul_.Tensor': it writes without gradient to a tensor that was computed with gradient")

    archive = Archive()
    x, w = archive.input("x", [4, 3]), archive.parameter("w", [2, 3])
    y = archive.op("t.default", [2, 4], self=archive.op("linear.default", [4, 2], input=x, weight=w))
    archive.tensors[y]["strides"] = [{"as_int": 1}, {"as_int": 2}]
    archive.op("mul_.Tensor", [8], self=archive.op("reshape.default", [8], self=y, shape=[8]), other=2.0)
    archive.output(archive.op("mean.default", [], self=Value(archive.nodes[-1]["name"])))
    expect_refused(archive.save(SCRATCH / "reshape.pt2"), "it writes to a reshape of a tensor that is not contiguous, which may be a copy or not")


def mutated(value, generator):
    """JSON with one part replaced: a number, a name, a list or an object somewhere within."""
    places = []

    def visit(parent, key):
        places.append((parent, key))
        child = parent[key]
        for inner in child if isinstance(child, dict) else range(len(child)) if isinstance(child, list) else ():
            visit(child, inner)
    root = {"": json.loads(json.dumps(value))}
    visit(root, "")
    parent, key = generator.choice(places)
    old = parent[key]
    if isinstance(old, bool) or old is None:
        parent[key] = generator.choice([not old, None, 3, "x"])
    elif isinstance(old, (int, float)):
        parent[key] = generator.choice([old + 1, old - 1, 0, -1, 2 ** 40, 2 ** 62, 10 ** 30, 1.5, "s0"])
    elif isinstance(old, str):
        parent[key] = generator.choice(["", "x", old + "_", generator.choice(NAMES), 7, None])
    elif isinstance(old, list):
        parent[key] = generator.choice([[], old[1:], old + old[:1], old[::-1], None])
    else:
        parent[key] = generator.choice([{}, None, [], {**old, "more": 1}])
    return root[""]


NAMES = ["p_w", "add", "view", "linear", "getitem", "transpose_1", "torch.ops.aten.view.default", "torch.ops.aten.add_.Tensor", "torch.ops.aten.cat.default",
         "torch.ops.aten.expand.default", "torch.ops.aten.matmul.default"]


@test
def damaged_programs_are_refused_or_read():
    generator = random.Random(int(os.environ.get("SLUICE_EXPORT_SEED", 5)))
    count = int(os.environ.get("SLUICE_EXPORT_MUTANTS", 60))
    names, refused = ["nanogpt-manual", "llama", "shared-layer", "two-tower"], 0
    for i in range(count):
        name = names[i % len(names)]
        with zipfile.ZipFile(REFERENCE / "export" / name / "model.pt2") as archive:
            files = {entry: archive.read(entry) for entry in archive.namelist()}
        target = generator.choice([entry for entry in files if entry.endswith(("model.json", "weights_config.json"))])
        files[target] = json.dumps(mutated(json.loads(files[target]), generator)).encode()
        path = SCRATCH / "mutant.pt2"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            for entry, data in files.items():
                archive.writestr(entry, data)
        done = try_run("sluice-import", "export", path, "-o", SCRATCH / "mutant.mlir")
        refused += done.returncode == 1
        if not expect(done.returncode in (0, 1), f"mutant {i} of {name}: exit code {done.returncode}\n{done.stderr}"):
            path.rename(SCRATCH / f"mutant-{i}.pt2")
    expect(0 < refused < count, f"{refused} of {count} mutants are refused")


main()
