"""write_a_model.py PAGE: the page's model compiles and trains by the page's commands, and its mistakes cause its messages.

Runs in the current folder, with the tools on the PATH.
"""

import re
import sys
from pathlib import Path

import console
from sluice import read_log, try_run

# Row of the page's table, and the change of the model that causes it.
MISTAKES = {
    "a transposed weight": ("%x, %w {transpose_rhs}", "%x, %w"),
    "a result type that does not": ("-> tensor<4x5x32xf32>\n      %sum", "-> tensor<4x5x33xf32>\n      %sum"),
    "an element type that differs": ("@hidden.weight : tensor<32x16xf32>\n      %b", "@hidden.weight : tensor<32x16xbf16>\n      %b"),
    "an undefined value": ("%wide, %b", "%wyde, %b"),
    "an undeclared parameter": ("model.read @hidden.weight", "model.read @hiden.weight"),
    "a parameter read with another shape": ("@hidden.weight : tensor<32x16xf32> normal", "@hidden.weight : tensor<16x32xf32> normal"),
    "a parameter declared twice": ("  model.parameter @head.weight", "  model.parameter @head.weight : tensor<3x16xf32> zeros\n  model.parameter @head.weight"),
    "an unknown initializer": ("normal(0.0, 0.5)", "gaussian(0.0, 0.5)"),
    "a yield with another type": ("model.yield %kept : tensor<4x5x16xf32>", "model.yield %wide : tensor<4x5x32xf32>"),
    "a block without its yield": ("      model.yield %kept : tensor<4x5x16xf32>\n", ""),
    "an input without a name": (' {model.input = "words", model.limit = 50 : i64}', ""),
    "a result without a name": (' {model.output = "loss"}', ""),
    "a loss with another name": ('model.output = "loss"', 'model.output = "score"'),
    "a train function that": ("(tensor<f32> {", "(tensor<4xf32> {"),
    "a function without": (' attributes {model.entry = #model.entry<train>}', ""),
    "an unknown op": ("model.gelu", "model.linear"),
    "a missing attribute": (' {approximate = #model.approximation<tanh>}', ""),
    "a misspelt attribute": ('{reduction = #model.reduction<mean>}', '{reduction = #model.reduction<mean>, smoothing = 0.1 : f64}'),
    "an invalid bound": ("model.limit = 3", "model.limit = 0"),
    "float class indices": ("tensor<4xi32>", "tensor<4xf32>"),
}


def main():
    page = Path(sys.argv[1]).read_text()
    model = re.search(r"^```mlir\n(module.*?)^```", page, re.S | re.M)[1]
    Path("tagger.mlir").write_text(model)
    console.run(sys.argv[1])
    losses = [step["loss"] for step in read_log("run.jsonl")[0]]
    if not losses[-1] < losses[0] / 10:
        sys.exit(f"expected the loss to fall below a tenth of {losses[0]} but got {losses[-1]}")
    rows = dict(re.findall(r"^\| (.+?) \| `(.+)` \|$", page, re.M))
    seen = set()
    for start, (old, new) in MISTAKES.items():
        row = next((row for row in rows if row.startswith(start)), None)
        if row is None or old not in model:
            sys.exit(f"'{start}': no row of the table, or nothing to change in the model")
        seen.add(row)
        changed = model.replace(old, new) if start == "float class indices" else model.replace(old, new, 1)
        if start == "a train function that":
            changed = changed.replace("return %loss : tensor<f32>", "return %lse : tensor<4xf32>")
        Path("wrong.mlir").write_text(changed)
        done = try_run("sluice-compile", "wrong.mlir", "-o", "wrong.plan")
        if done.returncode != 1 or rows[row] not in done.stderr or "wrong.mlir:" not in done.stderr:
            sys.exit(f"{row}: expected '{rows[row]}' with its place but got exit {done.returncode}\n{done.stderr}")
    if missing := set(rows) - seen:
        sys.exit(f"rows without a mistake: {missing}")
    print(f"loss from {losses[0]} to {losses[-1]}, {len(seen)} mistakes answered")


if __name__ == "__main__":
    main()
