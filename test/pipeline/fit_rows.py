"""Rows of archives of torch.export in sluice-fit: those of the range of the dynamic first dim."""

from archives import *
from sluice import *


def dynamic(least, most, expression="Symbol('s0', positive=True, integer=True)"):
    """A linear layer, whose rows are dynamic."""
    def free_rows(model, _):
        for tensor in model["graph_module"]["graph"]["tensor_values"].values():
            tensor["sizes"] = [{"as_expr": {"expr_str": expression, "hint": {"as_int": 6}}} if size == {"as_int": 6} else size for size in tensor["sizes"]]
        model["range_constraints"] = {"s0": {"min_val": least, "max_val": most}}
    archive = Archive()
    x, w = archive.input("x", [6, 3]), archive.parameter("w", [7, 3])
    archive.output(archive.op("mean.default", [], self=archive.op("linear.default", [6, 7], input=x, weight=w)))
    return archive.save(SCRATCH / "dynamic.pt2", free_rows)


def rows_of(archive, *options):
    found = json.loads(run("sluice-fit", archive, "--gpus", "1x1GiB", "--recompute", "none", "--json", *options).stdout)
    errors = [row["error"] for row in found["rows"] if row["error"]]
    expect(not errors, f"rows without a plan: {errors}")
    return [row["rows"] for row in found["rows"]]


@test
def rows_are_of_the_range():
    for least, most, rows in ((0, None, [1, 2, 128, 256]), (2, None, [2, 4, 128, 256]), (3, 20, [4, 8, 16]), (1, 1, [1])):
        expect_equal(rows_of(dynamic(least, most)), rows, f"rows of the range {least} to {most}")
    even = "Mul(Integer(2), Symbol('s0', positive=True, integer=True))"
    expect_equal(rows_of(dynamic(1, None, even)), [2, 4, 128, 256], "rows of an expression")
    expect_equal(rows_of(dynamic(2, None), "--size", "s0=6"), [6], "a size that is given")
    expect_equal(rows_of(dynamic(2, None), "--batch", "6"), [6], "rows that are given")
    refused = try_run("sluice-fit", dynamic(2, 8), "--gpus", "1x1GiB", "--batch", "1")
    expect_equal(refused.returncode, 1, "exit code of rows outside of the range")
    expect("expected from 2 to 8 but got 1" in refused.stderr, refused.stderr)


main(no_empty_loops=True)
