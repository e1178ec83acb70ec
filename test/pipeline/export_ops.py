"""Programs of a few ops of ATen: the loss, each element of each gradient and the written buffers are those that PyTorch computed."""

import export_cases
import export_cases_elementwise
from sluice import *

NUMBERS = json.loads((REFERENCE / "export-ops.json").read_text())
# A step of SGD with a rate of a power of two gives gradients with almost no rounding.
RATE = 1024.0


def check(names):
    expect(len(names) > 0, "no cases")
    for name in names:
        wanted = NUMBERS[name]
        graph = export_cases.CASES[name]()
        data, model = SCRATCH / f"{name}.data.safetensors", SCRATCH / f"{name}.mlir"
        data.write_bytes(graph.file())
        run("sluice-import", "export", graph.save(SCRATCH / f"{name}.pt2"), "-o", model, "--weights", model.with_suffix(".safetensors"))
        plan = Plan(model, ["optimizer.name=sgd", f"optimizer.lr={RATE}"]).check()
        done = train(plan, "--init", model.with_suffix(".safetensors"), steps=1, data=data)
        expect(abs(done.loss[0] - wanted["loss"]) <= 1e-5 * max(1, abs(wanted["loss"])), f"{name}: expected the loss {wanted['loss']} but got {done.loss[0]}")
        start, after = tensors(model.with_suffix(".safetensors").read_bytes()), tensors(done.weights)
        for key, gradient in wanted["gradients"].items():
            expect_numbers(tuple((a - b) / RATE for a, b in zip(start[key], after[key])), gradient, f"{name}: gradient of '{key}'")
        for key, values in wanted["buffers"].items():
            expect_numbers(after[f"rank0.{key}"], values, f"{name}: buffer '{key}'")


def expect_numbers(found, wanted, what):
    length = math.sqrt(sum(x * x for x in wanted))
    expect_equal(len(found), len(wanted), f"{what}: number of elements")
    for i, (a, b) in enumerate(zip(found, wanted)):
        if not expect(abs(a - b) <= 1e-5 * length + 1e-6, f"{what}: element {i}, expected {b} but got {a}"):
            return


FAMILIES = {
    "convolutions": ("conv",),
    "images": ("between",),
    "pools": ("max_pool", "avg_pool", "adaptive"),
    "norms": ("batch_norm", "group_norm", "instance_norm"),
    "recurrent networks": ("lstm", "gru", "rnn"),
    "indices": ("index",),
    "largest elements": ("max_dim", "min_dim", "max_of", "min_of", "amax", "amin", "argmax", "max_other", "min_other"),
    "booleans and writes": ("bitwise", "logical", "or_of", "shifted"),
    "movement": ("pad", "repeat", "cumsum", "diff", "baddbmm"),
    "attention": ("attention",),
    "elementwise": ("sign", "negated", "mish", "log_sigmoid", "glu", "prelu", "addcmul", "lerp", "broadcast_to", "upsample"),
    "sums": ("var", "std", "logsumexp", "nll_loss", "einsum"),
}


def of(family):
    return [name for name in NUMBERS if name.startswith(FAMILIES[family])]


@test
def convolutions():
    check(of("convolutions"))


@test
def images():
    """The transposes of the input, of the output before its gradient, and those that are not avoided."""
    check(of("images"))
    for name in of("images"):
        count = (SCRATCH / f"{name}.mlir").read_text().count("model.transpose")
        expect_equal(count, {"between_a_sum_with_positions": 3}.get(name, 2), f"{name}: transposes")


@test
def pools():
    check(of("pools"))


@test
def norms():
    check(of("norms"))


@test
def recurrent_networks():
    check(of("recurrent networks"))


@test
def indices():
    check(of("indices"))


@test
def largest_elements():
    check(of("largest elements"))


@test
def booleans_and_writes():
    check(of("booleans and writes"))


@test
def movement():
    check(of("movement"))


@test
def attention():
    check(of("attention"))


@test
def elementwise():
    check(of("elementwise"))


@test
def sums():
    check(of("sums"))


def wide_values():
    """Attention of values of four elements to keys of two."""
    graph, length, heads = export_cases.Case(), 3, 2
    x = graph.floats("x", [export_cases.ROWS, length, 4])

    def part(name, size):
        y = graph.op("linear.default", [export_cases.ROWS, length, heads * size], input=x, weight=graph.weight(name, [heads * size, 4], float(ord(name))))
        y = graph.op("view.default", [export_cases.ROWS, length, heads, size], self=y, size=[export_cases.ROWS, length, heads, size])
        return graph.op("transpose.int", [export_cases.ROWS, heads, length, size], self=y, dim0=1, dim1=2)
    y = graph.op("scaled_dot_product_attention.default", [export_cases.ROWS, heads, length, 4], query=part("q", 2), key=part("k", 2), value=part("v", 4))
    return graph.loss(y, [export_cases.ROWS, heads, length, 4])


@test
def warnings():
    for name, text in (("batch_norm_by_running_statistics", "warning: all 1 batch norms use their running statistics: the module was exported in eval mode, and training "
                                                            "does not change the statistics"),
                       ("attention_of_wide_values", "warning: 1 attentions are separate ops, because their values have another size than the keys, or their mask or bias another shape than "
                                                    "the scores: their weights take 288 bytes for a micro-batch")):
        case = export_cases.CASES.get(name, wide_values)
        done = run("sluice-import", "export", case().save(SCRATCH / f"{name}.pt2"), "-o", SCRATCH / f"{name}.mlir")
        expect(text in done.stderr, f"{name}: expected '{text}' in {done.stderr}")
    for name in ("batch_norm_of_images", "attention_under_padding", "attention_of_groups_under_padding", "attention_with_a_bias", "attention_with_a_causal_bias"):
        quiet = run("sluice-import", "export", export_cases.CASES[name]().save(SCRATCH / "quiet.pt2"), "-o", SCRATCH / "quiet.mlir")
        expect("warning" not in quiet.stderr, quiet.stderr)
        text = (SCRATCH / "quiet.mlir").read_text()
        expect(not name.startswith("attention") or ("model.attention" in text and "model.softmax" not in text), f"{name} is separate ops: {text}")


@test
def each_case_has_numbers_and_a_family():
    expect_equal(sorted(NUMBERS), sorted(export_cases.CASES), "cases with numbers")
    expect_equal(sorted(name for family in FAMILIES for name in of(family)), sorted(NUMBERS), "cases of families")


main()
