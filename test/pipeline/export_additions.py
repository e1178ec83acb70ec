"""`extra/sluice.json` of an archive, as sluice.torch.export writes it: ties of parameters without bytes, checkpoints, rows, and its refusals."""

# REQUIRES: compiler

from archives import *
from sluice import *

ROWS, WIDTH = 4, 8


def with_extra(members):
    """A change of an archive's files."""
    def add(files):
        files["extra/sluice.json"] = members if isinstance(members, (str, bytes)) else json.dumps(members)
    return add


def imported(archive, members, *options, change=lambda model, config: None):
    path = archive.save(SCRATCH / "a.pt2", change, entries=with_extra(members) if members is not None else lambda files: None)
    model = SCRATCH / f"{next(numbers)}.mlir"
    run("sluice-import", "export", path, *options, "-o", model)
    return model


def refused(archive, members, *texts):
    path = archive.save(SCRATCH / "a.pt2", entries=with_extra(members))
    done = try_run("sluice-import", "export", path, "-o", SCRATCH / "refused.mlir")
    for text in texts:
        expect(done.returncode == 1 and text in done.stderr, f"{members}: expected exit code 1 and '{text}' but got {done.returncode} and {done.stderr}")


def two_weights(sizes=((WIDTH, WIDTH), (WIDTH, WIDTH))):
    """loss = mean(x a b), on the device meta: one empty entry has the bytes of both."""
    archive = Archive()
    x = archive.input("x", [ROWS, WIDTH])
    for name, size in zip("ab", sizes):
        w = archive.parameter(name, list(size), [], payload="weight_0")
        x = archive.op("linear.default", [ROWS, size[0]], input=x, weight=w)
    archive.output(archive.op("mean.default", [], self=x))
    return archive


def parameters(model):
    return re.findall(r"model.parameter @(\S+) ", model.read_text())


@test
def ties_of_parameters_without_bytes():
    expect_equal(parameters(imported(two_weights(), None)), ["a", "b"], "without the entry")
    model = imported(two_weights(), {"version": 1, "ties": [["a", "b"]]})
    expect_equal(parameters(model), ["a"], "with the entry")
    expect('aliases ["b"]' in model.read_text() or '"b"' in model.read_text(), "the other name is lost")
    run("sluice-compile", model, "-o", SCRATCH / "tied.plan")
    expect_equal(parameters(imported(two_weights(), {"version": 1, "ties": [["a", "c"], []]})), ["a", "b"], "names of no parameter")
    refused(two_weights(((4, WIDTH), (4, 4))), {"version": 1, "ties": [["a", "b"]]}, "parameters 'a' and 'b' are tied by extra/sluice.json, but their types differ")


@test
def stored_bytes_take_precedence():
    archive = Archive()
    x = archive.input("x", [ROWS, WIDTH])
    for name in "ab":
        x = archive.op("linear.default", [ROWS, WIDTH], input=x, weight=archive.parameter(name, [WIDTH, WIDTH]))
    archive.output(archive.op("mean.default", [], self=x))
    expect_equal(parameters(imported(archive, {"version": 1, "ties": [["a", "b"]]})), ["a", "b"], "different bytes")


def blocks(count=2, parts=("fc", "out")):
    """loss = mean(x w ...), in modules layers.N.fc and layers.N.out."""
    archive = Archive()
    x = archive.input("x", [ROWS, WIDTH])
    for i in range(count):
        for part in parts:
            w = archive.parameter(f"layers.{i}.{part}.weight", [WIDTH, WIDTH])
            x = archive.op("linear.default", [ROWS, WIDTH], module=f"layers.{i}", input=x, weight=w)
            x = archive.op("tanh.default", [ROWS, WIDTH], module=f"layers.{i}", self=x)
    archive.output(archive.op("mean.default", [], self=x))
    return archive


@test
def checkpoints_are_recomputed():
    """Marked modules are regions in their blocks, and with recompute.policy = "marked" the ops in them run again."""
    plain, marked = imported(blocks(), None), imported(blocks(), {"version": 1, "checkpoints": ["layers.1"]})
    expect_equal(plain.read_text().count("model.checkpoint"), 0, "regions without marks")
    expect_equal(marked.read_text().count("model.checkpoint"), 1, "regions of one mark")
    expect_equal(imported(blocks(), {"version": 1, "checkpoints": ["layers.0", "layers.1", "nothing"]}).read_text().count("model.checkpoint"), 2, "two marks")
    expect_equal(imported(blocks(), {"version": 1, "checkpoints": ["layers"]}).read_text().count("model.checkpoint"), 0, "a mark around blocks")
    for model, settings, wanted in ((plain, "marked", 0), (marked, "marked", 1), (marked, "none", 0)):
        plan = Plan(model, [f"recompute.policy={settings}"]).check()
        found = {one.unit for one in plan.instructions() if one.recompute}
        expect_equal(len(found), wanted, f"units with recompute, {settings}: {found}")


@test
def rows_of_the_example():
    """The entry's rows are the default of --batch."""
    def free_rows(model, _):
        for tensor in model["graph_module"]["graph"]["tensor_values"].values():
            tensor["sizes"] = [{"as_expr": {"expr_str": "Symbol('s0', positive=True, integer=True)", "hint": {"as_int": 5}}} if size == {"as_int": 5} else size
                               for size in tensor["sizes"]]
        model["range_constraints"] = {"s0": {"min_val": 2, "max_val": None}}

    def dynamic(members, *options):
        archive = Archive()
        x, w = archive.input("x", [5, 3]), archive.parameter("w", [7, 3])
        y = archive.op("linear.default", [5, 7], input=x, weight=w)
        archive.output(archive.op("mean.default", [], self=y))
        return imported(archive, members, *options, change=free_rows).read_text()
    expect("tensor<6x3xf32>" in dynamic({"version": 1, "batch": 6}), "rows of the entry")
    expect("tensor<9x3xf32>" in dynamic({"version": 1, "batch": 6}, "--batch", 9), "rows of the option")
    expect("tensor<8x3xf32>" in dynamic({"version": 1, "batch": 6}, "--set", "s0=8"), "a size of the option")


@test
def detached_programs():
    """A decomposed program is accepted if its no-grad regions are detached."""
    def decomposed(model, _):
        model["verifiers"] = ["ATEN"]
    expect_equal(len(parameters(imported(blocks(), {"version": 1, "detached": True}, change=decomposed))), 4, "parameters")
    path = blocks().save(SCRATCH / "a.pt2", decomposed, entries=with_extra({"version": 1, "detached": False}))
    expect("decomposed program" in try_run("sluice-import", "export", path, "-o", SCRATCH / "refused.mlir").stderr, "a program that is not detached is accepted")


@test
def refusals():
    archive = blocks()
    refused(archive, "no JSON", "extra/sluice.json: expected a JSON object")
    refused(archive, [1], "extra/sluice.json: expected a JSON object")
    refused(archive, {}, "extra/sluice.json: version 0, expected 1", "note: another version of sluice.torch.export wrote the archive")
    refused(archive, {"version": 2}, "extra/sluice.json: version 2, expected 1")
    refused(archive, "[" * 5000, "extra/sluice.json: nests more than")
    for members in ({"ties": 1}, {"ties": [1]}, {"ties": [[1]]}, {"ties": {}}, {"checkpoints": "layers.0"}, {"checkpoints": [None]}, {"detached": 1}, {"batch": 0}, {"batch": "4"},
                    {"batch": 1.5}, {"batch": 2**63}):
        refused(archive, {"version": 1, **members}, "a member of another type than sluice.torch.export writes")


main()
