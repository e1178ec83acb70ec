"""Small archives of torch.export, written without torch: a graph of a few ops, for tests of refusals and of equal spellings."""

import json
import struct
import zipfile
from pathlib import Path

F16, F32, F64, I32, I64, U8, BOOL, BF16 = 6, 7, 8, 4, 5, 1, 12, 13
FORMATS = {F32: "f", F64: "d", I32: "i", I64: "q", U8: "B", BOOL: "?"}


def meta_of(sizes, kind=F32, **changes):
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= size
    integers = lambda values: [value if isinstance(value, dict) else {"as_int": value} for value in values]
    return {"dtype": kind, "sizes": integers(sizes), "requires_grad": True, "device": {"type": "cpu", "index": None}, "strides": integers(strides),
            "storage_offset": {"as_int": 0}, "layout": 7, **changes}


class Value(str):
    """A name of the graph, in contrast to a string."""


def argument(value):
    if isinstance(value, dict):
        return value
    if value is None:
        return {"as_none": True}
    if isinstance(value, Value):
        return {"as_tensor": {"name": value}}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": "-Infinity" if value == float("-inf") else value}
    if isinstance(value, str):
        return {"as_string": value}
    if value and isinstance(value[0], Value):
        return {"as_tensors": [{"name": each} for each in value]}
    return {"as_ints": list(value)}


class Graph:
    def __init__(self):
        self.nodes, self.tensors, self.inputs = [], {}, []

    def value(self, name, sizes, kind=F32, **changes):
        self.tensors[name] = meta_of(sizes, kind, **changes)
        return Value(name)

    def op(graph, target, sizes, kind=F32, /, module="", source="y = f(x)", **arguments):
        """Called on a graph, because an argument of many ops is `self`. The result of an op, or the results where `sizes` is a list of lists."""
        several = bool(sizes) and isinstance(sizes[0], (list, tuple))
        base = f"{target.split('.')[0]}_{len(graph.nodes)}"
        names = [graph.value(f"{base}_{i}", each, kind) for i, each in enumerate(sizes)] if several else [graph.value(base, sizes, kind)]
        stack = "L__self__,,model.Model" + (f";L__self__{module},{module},model.Part" if module else "")
        line = len(graph.nodes) + 1
        graph.nodes.append({"target": target if target.startswith(("torch.", "higher")) else f"torch.ops.aten.{target}",
                           "inputs": [{"name": name, "arg": argument(value), "kind": 1} for name, value in arguments.items()],
                           "outputs": [{"as_tensors": [{"name": name} for name in names]}] if several else [{"as_tensor": {"name": names[0]}}],
                           "metadata": {"stack_trace": f'File "model.py", line {line}, in forward\n    {source}\n  '
                                                       f'File "site-packages/torch/nn/functional.py", line 7, in f\n    return g(x)',
                                        "nn_module_stack": stack},
                           "is_hop_single_tensor_return": None, "name": names[0]})
        return names if several else names[0]

    def json(self, outputs):
        return {"inputs": [{"as_tensor": {"name": name}} for name in self.inputs], "outputs": [{"as_tensor": {"name": name}} for name in outputs],
                "nodes": self.nodes, "tensor_values": self.tensors, "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": False,
                "custom_obj_values": {}, "sym_float_values": {}}


class Archive(Graph):
    def __init__(self):
        super().__init__()
        self.specs, self.outputs, self.weights, self.payloads = [], [], {}, {}

    def input(self, name, sizes, kind=F32):
        self.specs.append({"user_input": {"arg": {"as_tensor": {"name": name}}}})
        self.inputs.append(name)
        return self.value(name, sizes, kind)

    def parameter(self, name, sizes, values=None, kind=F32, payload=None, **changes):
        """Its values are 0.01, 0.02, ... by default. `payload` names the entry of the bytes; None is an entry of its own."""
        return self._stored(f"p_{name.replace('.', '_')}", name, sizes, values, kind, payload, "parameter", changes)

    def buffer(self, name, sizes, values=None, kind=F32, payload=None, **changes):
        return self._stored(f"b_{name.replace('.', '_')}", name, sizes, values, kind, payload, "buffer", changes)

    def _stored(self, value, name, sizes, values, kind, payload, role, changes):
        count = 1
        for size in sizes:
            count *= size
        values = [0.01 * (i + 1) for i in range(count)] if values is None else values
        payload = payload or f"weight_{len(self.payloads)}"
        if kind in FORMATS:
            self.payloads.setdefault(payload, struct.pack(f"<{len(values)}{FORMATS[kind]}", *values))
        else:
            self.payloads.setdefault(payload, bytes(2 * count))
        self.weights[name] = {"path_name": payload, "is_param": role == "parameter", "use_pickle": False, "tensor_meta": meta_of(sizes, kind, **changes)}
        spec = {"arg": {"name": value}, f"{role}_name": name}
        self.specs.append({role: {**spec, "persistent": True} if role == "buffer" else spec})
        self.inputs.append(value)
        return self.value(value, sizes, kind)

    def output(self, value, name=""):
        self.outputs.append((value, name))

    def model(self):
        keys = [name for _, name in self.outputs]
        spec = [1, {"type": "builtins.dict" if any(keys) else None, "context": json.dumps(keys) if any(keys) else None, "children_spec": []}]
        return {"graph_module": {"graph": self.json([value for value, _ in self.outputs]),
                                 "signature": {"input_specs": self.specs,
                                               "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": value}}}} for value, _ in self.outputs]},
                                 "module_call_graph": [{"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": "", "out_spec": json.dumps(spec)}}]},
                "schema_version": {"major": 8, "minor": 20}, "verifiers": ["TRAINING"], "torch_version": "2.15.0", "range_constraints": {}, "guards_code": []}

    def save(self, path, change=lambda model, config: None, entries=lambda files: None, compression=zipfile.ZIP_STORED):
        """`change` may change the JSON of the program and of the weights, `entries` the files."""
        model, config = self.model(), {"config": self.weights}
        change(model, config)
        files = {"models/model.json": json.dumps(model), "data/weights/model_weights_config.json": json.dumps(config), "byteorder": "little",
                 "data/constants/model_constants_config.json": json.dumps({"config": {}}),
                 **{f"data/weights/{name}": data for name, data in self.payloads.items()}}
        entries(files)
        with zipfile.ZipFile(path, "w", compression) as archive:
            for name, data in files.items():
                archive.writestr(f"model/{name}", data)
        return Path(path)


def make_dynamic(symbols):
    """A change of a program: its extents become symbols, as torch.export writes them, and products of two extents products of symbols."""
    names = {extent: f"Symbol('{name}', positive=True, integer=True)" for extent, name in symbols.items()}
    (a, first), (b, second) = names.items()
    names[a * b] = f"Mul({first}, {second})"

    def expression(extent):
        return {"as_expr": {"expr_str": names[extent], "hint": {"as_int": extent}}}

    def change(model, _):
        graph = model["graph_module"]["graph"]
        for tensor in graph["tensor_values"].values():
            tensor["sizes"] = [expression(size["as_int"]) if size["as_int"] in names else size for size in tensor["sizes"]]
        size = f"sym_size_int_{a}"
        graph["sym_int_values"] = {size: expression(a), "mul": expression(a * b)}
        for i, (target, inputs, output) in enumerate((("torch.ops.aten.sym_size.int", {"self": {"as_tensor": {"name": graph["inputs"][0]["as_tensor"]["name"]}}, "dim": {"as_int": 0}}, size),
                                                      ("_operator.mul", {"a": {"as_sym_int": {"as_name": size}}, "b": {"as_int": b}}, "mul"))):
            graph["nodes"].insert(i, {"target": target, "inputs": [{"name": key, "arg": value, "kind": 1} for key, value in inputs.items()],
                                      "outputs": [{"as_sym_int": {"as_name": output}}], "metadata": {}, "name": output})
        for node in graph["nodes"]:
            for given in node["inputs"]:
                if a * b in given["arg"].get("as_ints", ()):
                    given["arg"] = {"as_sym_ints": [{"as_name": "mul"} if size == a * b else {"as_int": size} for size in given["arg"]["as_ints"]]}
        model["range_constraints"] = {name: {"min_val": 1, "max_val": 64} for name in symbols.values()}
    return change
