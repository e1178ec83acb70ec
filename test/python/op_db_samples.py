"""The samples of torch's op database in test/reference/export-op-db.zip, and archives of several of them."""

import json
import re
import struct
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

from archives import Archive, Value

DATA = {"float32": ("F32", "f"), "int64": ("I64", "q"), "int32": ("I32", "i"), "bool": ("BOOL", "?"), "uint8": ("U8", "B")}


def weights(count):
    """The factors of a result's elements in the loss: numbers of few bits, of both signs."""
    return [((7 * i + 3) % 11 - 4.5) / 8 for i in range(count)]


@dataclass
class Sample:
    """A program of the training IR with its inputs, loss and gradients; see test/reference/export_op_db.py."""
    entry: str
    number: int
    stored: dict

    @property
    def name(self):
        return f"{self.entry}#{self.number}"


def walk(graph):
    for node in graph["nodes"]:
        yield node
        for given in node["inputs"]:
            if "as_graph" in given["arg"]:
                yield from walk(given["arg"]["as_graph"]["graph"])


def read(path):
    """All samples by entry, and what was left out."""
    with zipfile.ZipFile(path) as file:
        entries = {name.removesuffix(".json"): json.loads(file.read(name)) for name in file.namelist() if name.endswith(".json")}
        counts = json.loads(file.read("counts"))
    return {entry: [Sample(entry, i, each) for i, each in enumerate(samples)] for entry, samples in entries.items()}, counts


def renamed(graph, prefix):
    """The graph with a prefix before the names of all values."""
    return {"inputs": of_values(graph["inputs"], prefix), "outputs": of_values(graph["outputs"], prefix),
            "nodes": [{**node, "name": prefix + node["name"], "outputs": of_values(node["outputs"], prefix),
                       "inputs": [{**given, "arg": of_values(given["arg"], prefix)} for given in node["inputs"]]} for node in graph["nodes"]],
            **{kind: {prefix + name: value for name, value in graph[kind].items()} for kind in ("tensor_values", "sym_int_values", "sym_bool_values", "sym_float_values")},
            **{key: graph[key] for key in ("is_single_tensor_return", "custom_obj_values")}}


def of_values(argument, prefix):
    if isinstance(argument, list):
        return [of_values(each, prefix) for each in argument]
    if not isinstance(argument, dict):
        return argument
    return {key: renamed(value, prefix) if key == "graph" else prefix + value if key in ("name", "as_name") and value else of_values(value, prefix)
            for key, value in argument.items()}


class Samples(Archive):
    """The programs of several samples as one. Its loss is the sum of the loss of sample i times the parameter `scale<i>` of 1, whose gradient is the loss of the sample."""

    def __init__(self, samples):
        super().__init__()
        self.rows = [("rows", "float32", [1], [1.0])]
        one = self.op("select.int", [], self=self.input("rows", [1]), dim=0, index=0)
        total = None
        for i, sample in enumerate(samples):
            loss = self.add(sample.stored, f"s{i}_")
            part = self.op("mul.Tensor", [], self=loss, other=self.parameter(f"scale{i}", [], [1.0]))
            total = self.op("add.Tensor", [], self=total, other=part) if total else part
        self.output(self.op("mul.Tensor", [], self=total, other=one))

    def add(self, stored, prefix):
        graph = renamed(stored["graph"], prefix)
        self.nodes += graph["nodes"]
        self.tensors |= graph["tensor_values"]
        values = iter(stored["inputs"])
        for spec in stored["specs"]:
            (kind, entry), = spec.items()
            if kind == "user_input":
                name = prefix + entry["arg"]["as_tensor"]["name"]
                self.rows.append((name, *next(values)))
                self.specs.append({kind: {"arg": {"as_tensor": {"name": name}}}})
            else:
                name = prefix + entry["arg"]["name"]
                key = prefix + entry[f"{kind}_name"]
                meta, data = stored["tensors"][entry[f"{kind}_name"]]
                # A constant of the program is like a buffer that is not written.
                kind = "buffer" if kind == "tensor_constant" else kind
                self.specs.append({kind: {"arg": {"name": name}, f"{kind}_name": key, **({"persistent": True} if kind == "buffer" else {})}})
                self.weights[key] = {"path_name": f"weight_{len(self.payloads)}", "is_param": kind == "parameter", "use_pickle": False, "tensor_meta": meta}
                self.payloads[f"weight_{len(self.payloads)}"] = bytes.fromhex(data)
            self.inputs.append(name)
        return Value(prefix + stored["output"])

    def file(self):
        """The inputs as safetensors."""
        header, data = {}, b""
        for name, kind, sizes, values in self.rows:
            letter, form = DATA[kind]
            part = struct.pack(f"<{len(values)}{form}", *values)
            header[name] = {"dtype": letter, "shape": sizes, "data_offsets": [len(data), len(data) + len(part)]}
            data += part
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data


def import_samples(samples, path):
    """The archive of the samples, the path of the model, and the finished process of the import."""
    archive, model = Samples(samples), path.with_suffix(".mlir")
    model.unlink(missing_ok=True)
    done = subprocess.run(["sluice-import", "export", archive.save(path.with_suffix(".pt2")), "-o", model, "--weights", path.with_suffix(".safetensors")],
                          capture_output=True, text=True)
    return archive, model, done


def reason_of(sample, path):
    """Why a sample is refused: the first op and its problem. None if it is imported."""
    unknown = sorted({kind for kind, _, _ in sample.stored["inputs"]} - set(DATA))
    if unknown:
        return f"an input of {unknown[0]}"
    _, _, done = import_samples([sample], path)
    if done.returncode == 0:
        return None
    if done.returncode != 1:
        return f"exit code {done.returncode}"
    return re.sub(r" \(\d+ times\)$", "", re.sub(r"^error: \S+: ", "", done.stderr.splitlines()[0]))
