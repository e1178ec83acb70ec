"""Writes test/reference/samples: PyTorch's sample inputs (OpInfo) as programs of the model dialect, with f64 results.

    python3 -m venv venv && venv/bin/pip install torch==2.15.0 numpy safetensors expecttest
    venv/bin/python test/reference/op_samples.py

The rules (op_sample_rules.py) take the samples that a model op expresses. A sample is one op over its own inputs: the
function @f32 (@bf16) of OP.mlir has all f32 (bf16) samples of OP. OP.safetensors has the values of the ports: inputs
and cotangents in the type of the port, and the outputs and gradients that the entry's function computes in f64.
index.json has a row for each op: `without`, the reason why it has no samples, or for each type

- `wrt`: the arguments that have a gradient
- `elementwise`: whether each element of a result depends on one element only
- `samples`: the numbers of the samples of each entry, among the reference inputs if the op is elementwise
- `left_out`: how many samples of each entry have no case, and why
"""

import json
import re
import warnings
from pathlib import Path

import torch
from op_sample_rules import ELEMENTWISE, NO_SAMPLES, RULES, TYPES, LeftOut, as_list, need, wide
from safetensors.torch import save_file
from torch.testing._internal.common_methods_invocations import op_db

warnings.simplefilter("ignore")
ENTRIES = {entry.name + ("." + entry.variant_test_name if entry.variant_test_name else ""): entry for entry in op_db}
# Samples of one entry, and elements of one tensor: of an elementwise entry, and of others.
MOST_SAMPLES, FEW_ELEMENTS, MOST_ELEMENTS = 12, 300, 2500


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_of(item)


class Function:
    """The samples of one type of an op: a function in text, and the values of its ports."""

    def __init__(self, name):
        self.name, self.arguments, self.lines, self.results = name, [], [], []
        self.values, self.wrt, self.samples, self.left_out, self.elementwise = {}, [], {}, {}, True
        self.generator = torch.Generator().manual_seed(0)

    def add_entry(self, entry, rule, dtype):
        """Adds the samples that the rule expresses: all, or as many as there may be, evenly spaced."""
        torch.manual_seed(0)
        cases, reasons = {}, {}
        opinfo = ENTRIES[entry]
        # Reference inputs begin with the samples and include large numbers, infinities and NaN.
        elementwise = rule in ELEMENTWISE
        inputs = opinfo.reference_inputs if elementwise else opinfo.sample_inputs
        self.elementwise &= elementwise
        for number, sample in enumerate(inputs("cpu", dtype)):
            try:
                for tensor in tensors_of([sample.input, sample.args, list(sample.kwargs.values())]):
                    need(tensor.numel() > 0, "an empty tensor")
                    need(tensor.numel() <= (FEW_ELEMENTS if elementwise else MOST_ELEMENTS), "a large tensor")
                case = rule(opinfo.op, sample)
                need(case.signature() not in [other.signature() for other in cases.values()], "as an earlier sample")
                cases[number] = self.evaluate(case, elementwise)
            except LeftOut as reason:
                reasons[str(reason)] = reasons.get(str(reason), 0) + 1
        chosen = list(cases)
        if len(chosen) > MOST_SAMPLES:
            reasons["more than enough"] = len(chosen) - MOST_SAMPLES
            chosen = [chosen[i * len(chosen) // MOST_SAMPLES] for i in range(MOST_SAMPLES)]
        for number in chosen:
            self.add(cases[number], f"s{sum(map(len, self.samples.values()))}")
            self.samples.setdefault(entry, []).append(number)
        if reasons:
            self.left_out[entry] = reasons

    def evaluate(self, case, elementwise):
        """Computes the results, and the gradients for cotangents that are uniform in [-1, 1), in f64."""
        leaves = [wide(operand) for operand in case.operands]
        inexact = [i for i, leaf in enumerate(leaves) if leaf.is_floating_point()]
        for i in inexact:
            leaves[i].requires_grad_()
        case.results = as_list(case.function(*leaves))
        need(all(result.numel() > 0 for result in case.results), "an empty tensor")
        need(all(result.numel() <= MOST_ELEMENTS for result in case.results), "a large tensor")
        given = [i for i, result in enumerate(case.results) if result.requires_grad and case.is_float(i)]
        case.cotangents = {i: (torch.rand(case.results[i].shape, generator=self.generator) * 2 - 1).to(case.dtype(i))
                           for i in given}
        case.gradients = dict(zip(inexact, torch.autograd.grad(
            [case.results[i] for i in given], [leaves[i] for i in inexact],
            [case.cotangents[i].double() for i in given]))) if given else {}
        tensors = [*case.operands, *case.results, *case.gradients.values()]
        need(elementwise or all(torch.isfinite(tensor).all() for tensor in tensors), "a result that is not finite")
        return case

    def add(self, case, name):
        port = lambda value: f"{self.name}.{name}.{value}"
        for i, (operand, type) in enumerate(zip(case.operands, case.types())):
            if i in case.gradients:
                self.wrt.append(len(self.arguments))
                self.values["grad." + port(f"x{i}")] = case.gradients[i]
            self.arguments.append(f"%{name}.x{i}: {type} {{model.input = \"{port(f'x{i}')}\"}}")
            self.values[port(f"x{i}")] = operand
        for i, (result, type) in enumerate(zip(case.results, case.outputs)):
            self.results.append((f"%{name}.y{i}", type, port(f"y{i}")))
            self.values[port(f"y{i}")] = result if case.is_float(i) else result.to(torch.int32)
            if i in case.cotangents:
                self.values["cotangent." + port(f"y{i}")] = case.cotangents[i]
        self.lines += [re.sub(r"%(\w+)", rf"%{name}.\1", line) for line in case.lines]

    def text(self):
        arguments = ",\n      ".join(self.arguments)
        results = ",\n       ".join(f"{type} {{model.output = \"{port}\"}}" for _, type, port in self.results)
        lines = "".join(f"    {line}\n" for line in self.lines)
        return (f"  func.func @{self.name}(\n      {arguments})\n   -> ({results})\n"
                f"      attributes {{model.entry = #model.entry<forward>}} {{\n{lines}"
                f"    return {', '.join(value for value, _, _ in self.results)}\n"
                f"      : {', '.join(type for _, type, _ in self.results)}\n  }}\n")

    def row(self):
        return {"wrt": self.wrt, "elementwise": self.elementwise, "samples": self.samples, "left_out": self.left_out}


def write(folder):
    folder.mkdir(exist_ok=True)
    rows = {op: {"without": reason} for op, reason in NO_SAMPLES.items()}
    for op, rules in RULES.items():
        functions = []
        for dtype in (torch.float32, torch.bfloat16):
            functions.append(Function(TYPES[dtype]))
            for entry, rule in rules.items():
                functions[-1].add_entry(entry, rule, dtype)
        text = "".join(function.text() for function in functions)
        (folder / f"{op}.mlir").write_text(f"module attributes {{model.name = \"{op}\"}} {{\n{text}}}\n")
        save_file({name: value.detach().clone(memory_format=torch.contiguous_format)
                   for function in functions for name, value in function.values.items()}, folder / f"{op}.safetensors")
        rows[op] = {function.name: function.row() for function in functions}
    # One line for each op or type of an op.
    lines = [f' "{op}": ' + (json.dumps(row) if "without" in row else
                             "{\n" + ",\n".join(f'  "{name}": {json.dumps(part)}' for name, part in row.items()) + "}")
             for op, row in sorted(rows.items())]
    (folder / "index.json").write_text(f'{{"torch": "{torch.__version__.split("+")[0]}",\n"ops": {{\n'
                                       + ",\n".join(lines) + "\n}}\n")


if __name__ == "__main__":
    write(Path(__file__).parent / "samples")
