"""Writes export-ops.json: loss, gradients and written buffers of the programs in test/python/export_cases*.py, as PyTorch computes them in f64.

usage: PYTHONPATH=test/python python test/reference/export_ops.py
"""

import json
import struct
import sys
from pathlib import Path

import torch

import export_cases
import export_cases_elementwise
from archives import BOOL, F32, I64

TYPES = {F32: torch.float64, I64: torch.int64, BOOL: torch.bool}


def argument(values, given):
    (kind, value), = given.items()
    if kind == "as_none":
        return None
    if kind == "as_tensor":
        return values[value["name"]]
    if kind in ("as_tensors", "as_optional_tensors"):
        return [argument(values, {"as_tensor": each} if kind == "as_tensors" else each) for each in value]
    if kind == "as_scalar_type":
        return TYPES[value]
    return float(value) if kind == "as_float" else value


def run(graph):
    values, parameters, buffers = {}, {}, {}
    for spec in graph.specs:
        (kind, entry), = spec.items()
        if kind == "user_input":
            name = entry["arg"]["as_tensor"]["name"]
            letter, sizes, numbers = graph.data[name]
            # The numbers of the file, which are rounded to f32.
            numbers = struct.unpack(f"{len(numbers)}f", struct.pack(f"{len(numbers)}f", *numbers)) if letter == "F32" else numbers
            values[name] = torch.tensor(numbers, dtype=torch.float64 if letter == "F32" else torch.int64).view(sizes)
            continue
        name = entry[f"{kind}_name"]
        sizes = [size["as_int"] for size in graph.weights[name]["tensor_meta"]["sizes"]]
        data = graph.payloads[graph.weights[name]["path_name"]]
        tensor = torch.tensor(struct.unpack(f"<{len(data) // 4}f", data), dtype=torch.float64).view(sizes)
        (parameters if kind == "parameter" else buffers)[name] = tensor
        values[entry["arg"]["name"]] = tensor.requires_grad_(kind == "parameter")
    initial = {name: tensor.clone() for name, tensor in buffers.items()}
    for node in graph.nodes:
        packet, overload = node["target"].removeprefix("torch.ops.aten.").split(".")
        arguments = {each["name"]: argument(values, each["arg"]) for each in node["inputs"]}
        # Tables of a float type are f64 here.
        if packet.startswith(("arange", "zeros", "full", "new_")) and "dtype" not in arguments:
            arguments["dtype"] = torch.float64
        results = getattr(getattr(torch.ops.aten, packet), overload)(**arguments)
        names = [each["name"] for output in node["outputs"] for each in (output.get("as_tensors") or [output["as_tensor"]])]
        for name, result in zip(names, results if isinstance(results, (tuple, list)) else [results], strict=True):
            stated = [size["as_int"] for size in graph.tensors[name]["sizes"]]
            if list(result.shape) != stated:
                raise ValueError(f"{node['target']}: the result has the shape {list(result.shape)}, stated is {stated}")
            values[name] = result
    loss = values[graph.outputs[0][0]]
    gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    number = lambda tensor: [float(f"{value:.9g}") for value in tensor.detach().flatten().tolist()]
    return {"loss": loss.item(), "gradients": {name: number(gradient) for name, gradient in zip(parameters, gradients)},
            "buffers": {name: number(tensor) for name, tensor in buffers.items() if not torch.equal(tensor, initial[name])}}


def main():
    results, errors = {}, []
    for name, build in export_cases.CASES.items():
        try:
            results[name] = run(build())
        except Exception as error:
            errors.append(f"error: {name}: {error}")
    if errors:
        raise SystemExit("\n".join(errors))
    lines = [f"{json.dumps(name)}: {json.dumps(result)}" for name, result in results.items()]
    (Path(__file__).parent / "export-ops.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(results)} programs, torch {torch.__version__}", file=sys.stderr)


main()
