"""The cases of StableHLO's testdata in test/reference/stablehlo-cases.zip, and programs of several of them."""

import json
import re
import struct
import subprocess
import zipfile


def read(path):
    """The cases by name, and what was left out."""
    with zipfile.ZipFile(path) as file:
        cases = {name.removesuffix(".json"): json.loads(file.read(name)) for name in file.namelist() if name.endswith(".json")}
        return cases, json.loads(file.read("counts"))


def tensor(shape, element="f32"):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


class Samples:
    """One program of several cases. Its loss is the sum of the elements of the result of case i times those of the parameter `p<i>` of zeros, whose gradient is the result. The inputs are parameters."""

    def __init__(self, cases):
        self.cases = list(cases)
        self.weights = {}
        names, types, lines, functions = ['{sluice.input = "one"}'], ["tensor<1xf32>"], [], []
        total = '%total0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>'
        lines.append(total)
        sizes = lambda shape: ", ".join(map(str, range(len(shape))))
        for i, case in enumerate(self.cases):
            functions += [re.sub(r'(sym_name = "|callee = @)', rf"\1c{i}_", re.sub(r'sym_visibility = "public"', 'sym_visibility = "private"', text)) for text in case["functions"]]
            arguments = []
            shape, values = case["expected"]
            for name, given in [*((f"in{i}_{j}", given) for j, given in enumerate(case["inputs"])), (f"p{i}", (shape, [0.0] * len(values)))]:
                self.weights[name] = given
                arguments.append((f"%arg{len(types)}", tensor(given[0])))
                names.append(f'{{sluice.parameter = "{name}"}}')
                types.append(tensor(given[0]))
            (weight, kind), inputs = arguments[-1], arguments[:-1]
            lines += [
                f'%y{i} = "func.call"({", ".join(value for value, _ in inputs)}) <{{callee = @c{i}_main}}> : ({", ".join(each for _, each in inputs)}) -> {kind}',
                f'%w{i} = "stablehlo.multiply"(%y{i}, {weight}) : ({kind}, {kind}) -> {kind}',
                f'%s{i} = "stablehlo.reduce"(%w{i}, %total0) <{{dimensions = array<i64{": " if shape else ""}{sizes(shape)}>}}> ({{\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n'
                f'%t = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"stablehlo.return"(%t) : (tensor<f32>) -> ()\n}}) : ({kind}, tensor<f32>) -> tensor<f32>',
                f'%total{i + 1} = "stablehlo.add"(%total{i}, %s{i}) : (tensor<f32>, tensor<f32>) -> tensor<f32>',
            ]
        lines += ['%one = "stablehlo.reshape"(%arg0) : (tensor<1xf32>) -> tensor<f32>',
                  f'%loss = "stablehlo.multiply"(%total{len(self.cases)}, %one) : (tensor<f32>, tensor<f32>) -> tensor<f32>', '"func.return"(%loss) : (tensor<f32>) -> ()']
        body = "\n".join(lines)
        self.text = (f'"builtin.module"() ({{\n"func.func"() <{{arg_attrs = [{", ".join(names)}], function_type = ({", ".join(types)}) -> tensor<f32>, sym_name = "main"}}> ({{\n'
                     f'^bb0({", ".join(f"%arg{i}: {kind}" for i, kind in enumerate(types))}):\n{body}\n}}) : () -> ()\n' + "\n".join(functions) + "\n}) : () -> ()\n")


def safetensors(tensors):
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        part = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def import_samples(cases, path):
    """The program of the cases, the path of the model, and the finished process of the import."""
    samples, model = Samples(cases), path.with_suffix(".model.mlir")
    model.unlink(missing_ok=True)
    text = path.with_suffix(".mlir")
    text.write_text(samples.text)
    done = subprocess.run(["sluice-import", "stablehlo", text, "-o", model, "--gradients-as-written"], capture_output=True, text=True)
    return samples, model, done


def reason_of(case, path):
    """Why a case is refused: the first op and its problem. None if it is imported."""
    _, _, done = import_samples([case], path)
    if done.returncode == 0:
        return None
    if done.returncode != 1:
        return f"exit code {done.returncode}"
    line = re.sub(r" \(\d+ times\)$", "", re.sub(r"^error: \S+: ", "", done.stderr.splitlines()[0]))
    return re.sub(r", in '[^']*'$", "", re.sub(r"^\S+:\d+: ", "", line))
