"""Writes stablehlo-cases.zip: the static cases of f32 of StableHLO's testdata, in MLIR's generic form.

usage: python test/reference/stablehlo_cases.py FOLDER       FOLDER is stablehlo/testdata of a checkout of openxla/stablehlo; needs JAX, whose jaxlib has the
                                                             dialect's parser and printer

A case is a program of one file: `text` is a function @main of its f32 inputs, which returns the f32 result; inputs and results of other types are constants
and conversions in it. `inputs` and `expected` are the numbers of the file's @inputs and @expected. Files with dynamic shapes, quantized or complex types, 16-bit
floats, f64, several results or results that are not finite, and those with more than MOST numbers are left out, and counted by reason.
"""

import collections
import json
import pathlib
import re
import sys
import zipfile

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.interpreters import mlir
from jax.extend.mlir import ir

HERE = pathlib.Path(__file__).resolve().parent
MOST = 2048


def constants(function):
    """The values that a function without arguments returns."""
    result = list(function.regions[0].blocks[0].operations)[-1]
    values = []
    for operand in result.operands:
        op = operand.owner
        if op.name != "stablehlo.constant":
            return None
        # (DenseElementsAttr of a splat has one number.)
        attribute = ir.DenseElementsAttr(op.attributes["value"])
        shape = ir.RankedTensorType(operand.type).shape
        values.append(np.broadcast_to(np.array(attribute), shape) if attribute.is_splat else np.array(attribute).reshape(shape))
    return values


def case_of(path):
    """The case, or the reason why the file is left out."""
    text = path.read_text()
    text = text[text.index("module"):]
    for pattern, reason in ((r"tensor<[^>]*\?", "a dynamic shape"), (r"quant", "a quantized type"), (r"complex", "complex numbers"), (r"x?f64>", "f64"),
                            (r"x?(?:f16|bf16)>|f8E", "floats of 16 or 8 bits"), (r"x?(?:u?i2|u?i4|u?i8|u?i16|ui32|ui64)>", "integers other than 32 and 64 bits")):
        if re.search(pattern, text):
            return reason
    if not re.search(r"x?f32>", text):
        return "no f32"
    module = ir.Module.parse(text)
    table = ir.SymbolTable(module.operation)
    if "inputs" not in table or "expected" not in table or "main" not in table:
        return "another structure"
    inputs, expected = constants(table["inputs"]), constants(table["expected"])
    if inputs is None or expected is None:
        return "another structure"
    if len(expected) != 1:
        return "several results"
    if sum(value.size for value in [*inputs, *expected]) > MOST:
        return f"more than {MOST} numbers"
    if not np.isfinite(np.asarray(expected[0], np.float64)).all():
        return "results that are not finite"
    if not any(value.dtype == np.float32 for value in inputs):
        return "no input of f32"
    # The calls of @inputs and @expected, and the check, become arguments and the result.
    main = table["main"]
    block = main.regions[0].blocks[0]
    arguments = [block.add_argument(ir.RankedTensorType.get(list(value.shape), ir.F32Type.get()), ir.Location.unknown()) for value in inputs if value.dtype == np.float32]
    given = iter(arguments)
    result = list(block.operations)[-1]
    for op in list(block.operations):
        if op.operation.name == "func.call" and str(op.operation.attributes["callee"]) == "@inputs":
            for value, number in zip(op.operation.results, inputs):
                if number.dtype == np.float32:
                    value.replace_all_uses_with(next(given))
                else:
                    with ir.InsertionPoint(op.operation):
                        constant = mlir.ir_constant(np.asarray(number))
                    value.replace_all_uses_with(constant)
    checks = [op for op in block.operations if op.operation.name == "stablehlo.custom_call" and "check." in str(op.operation.attributes["call_target_name"])]
    if len(checks) != 1:
        return "another structure"
    found = checks[0].operation.operands[0]
    shape = list(ir.RankedTensorType(found.type).shape)
    floats = ir.RankedTensorType.get(shape, ir.F32Type.get())
    with ir.InsertionPoint(result.operation), ir.Location.unknown():
        value = found if found.type == floats else ir.Operation.create("stablehlo.convert", results=[floats], operands=[found]).result
        ir.Operation.create("func.return", operands=[value])
    result.operation.erase()
    checks[0].operation.erase()
    for op in reversed(list(block.operations)):
        if op.operation.name == "func.call" and str(op.operation.attributes["callee"]) in ("@inputs", "@expected"):
            op.operation.erase()
    for name in ("inputs", "expected"):
        table.erase(table[name])
    main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([argument.type for argument in arguments], [floats]))
    for name in ("res_attrs", "arg_attrs"):
        if name in main.attributes:
            del main.attributes[name]
    functions = [op.operation.get_asm(print_generic_op_form=True) for op in module.body.operations]
    listed = lambda value: np.asarray(value, np.float32).reshape(-1).tolist()
    return {"functions": functions, "inputs": [[list(value.shape), listed(value)] for value in inputs if value.dtype == np.float32],
            "expected": [shape, listed(expected[0])]}


def main():
    left_out, cases = collections.Counter(), {}
    with mlir.make_ir_context(), ir.Location.unknown():
        for path in sorted(pathlib.Path(sys.argv[1]).glob("*.mlir")):
            found = case_of(path)
            if isinstance(found, str):
                left_out[found] += 1
            else:
                cases[path.stem] = found
    with zipfile.ZipFile(HERE / "stablehlo-cases.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        entries = {**{f"{name}.json": case for name, case in cases.items()}, "counts": {"jax": jax.__version__, "left out": left_out}}
        for name, value in entries.items():
            # A fixed time, so that equal cases are equal bytes.
            file.writestr(zipfile.ZipInfo(name), json.dumps(value), zipfile.ZIP_DEFLATED)
    print(len(cases), dict(left_out))


main()
