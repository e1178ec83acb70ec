"""Writes export-op-db.zip: samples of torch's op database as programs of torch.export, with their loss and gradients in f64.

usage: PYTHONPATH=test/python python test/reference/export_op_db.py [ENTRY...]

An entry of the database is an op with a generator of arguments. The entries here are differentiable, and outside of linalg, fft, special and sparse. The loss of a
sample is the sum of the elements of all float results, each times a weight. Float arguments with a gradient are parameters, other tensors are inputs with one row.
Which samples are taken depends on torch alone, and never on the ops that Sluice reads: of each entry those of the fewest elements, and of different graphs.
"""

import json
import sys
import warnings
import zipfile
import zlib
from io import BytesIO
from pathlib import Path

import torch
from torch.testing._internal import common_methods_invocations
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_unflatten

from op_db_samples import walk, weights

# Samples of an entry that are exported, and those that are stored.
CANDIDATES, STORED = 24, 6
# A larger sample is stored only if an entry has less than three others.
ELEMENTS = 600
# The database gives ops with random numbers a fixed seed; without it they are recognised by their different results.
common_methods_invocations.wrapper_set_seed = lambda op, *arguments, **named: op(*arguments, **named)
FAMILIES = ("linalg", "fft", "special", "sparse")


class LeftOut(Exception):
    """A sample that says nothing about an import; its text is the reason."""


class Sample(torch.nn.Module):
    """The loss of an op on one sample. `arguments` are its tensors and other values, in the order of the pytree `spec`."""

    def __init__(self, op, sample, dtype):
        super().__init__()
        leaves, self.spec = tree_flatten((sample.input, sample.args, sample.kwargs))
        self.op, self.finish, self.leaves, self.given, known = op, sample.output_process_fn_grad, [], [], {}
        for leaf in leaves:
            if not isinstance(leaf, torch.Tensor):
                self.leaves.append(dtype if leaf is torch.float32 else leaf)
                continue
            if leaf.layout is not torch.strided or leaf.is_complex():
                raise LeftOut("sparse or complex arguments")
            if id(leaf) not in known:
                isParameter = leaf.requires_grad
                known[id(leaf)] = f"p{len(known)}" if isParameter else len(self.given)
                value = leaf.detach().contiguous().clone()
                value = value.to(dtype) if value.is_floating_point() else value
                if isParameter:
                    self.register_parameter(known[id(leaf)], torch.nn.Parameter(value))
                else:
                    self.given.append(value.unsqueeze(0))
            self.leaves.append((known[id(leaf)],))

    def forward(self, *given):
        return sum(each.sum() for each in self.parts(*given))

    def parts(self, *given):
        """What the loss adds up."""
        place = lambda key: getattr(self, key) if isinstance(key, str) else given[key][0]
        leaves = [place(leaf[0]) if isinstance(leaf, tuple) else leaf for leaf in self.leaves]
        first, arguments, named = tree_unflatten(leaves, self.spec)
        results = [each for each in tree_flatten(self.finish(self.op(first, *arguments, **named)))[0] if isinstance(each, torch.Tensor)]
        if any(each.is_complex() or each.layout is not torch.strided for each in results):
            raise LeftOut("sparse or complex results")
        results = [each for each in results if each.is_floating_point()]
        if not results:
            raise LeftOut("no float result")
        return [each * self.weights(each) for each in results]

    def weights(self, result):
        return torch.tensor(weights(result.numel()), dtype=result.dtype).view(result.shape)


def count(module):
    return sum(each.numel() for each in [*module.parameters(), *module.given])


def numbers(module):
    """The loss, the gradients, and the sum of the sizes of what the loss adds up."""
    parts = module.parts(*module.given)
    loss, added = sum(each.sum() for each in parts), sum(each.abs().sum() for each in parts)
    if loss.dtype is not next(module.parameters()).dtype:
        raise LeftOut("a result of another float type than the arguments")
    if not loss.requires_grad:
        raise LeftOut("no gradient")
    gradients = torch.autograd.grad(loss, list(module.parameters()), allow_unused=True)
    return loss.detach(), {name: torch.zeros_like(each) if gradient is None else gradient
                           for (name, each), gradient in zip(module.named_parameters(), gradients)}, added


def reference(op, sample):
    """The numbers in f64 of arguments that are rounded to f32, and the largest error of each in torch's f32."""
    narrow, wide = ([seeded(op, sample, dtype, seed) for seed in range(4)] for dtype in (torch.float32, torch.float64))
    if any(not torch.equal(each[0], runs[0][0]) for runs in (narrow, wide) for each in runs):
        raise LeftOut("random numbers")
    loss, gradients, added = wide[0]
    errors = {name: float(f"{(narrow[0][1][name] - each).abs().max().item():.3g}") for name, each in gradients.items()}
    return {"loss": loss.item(), "added": float(f"{added.item():.3g}"), "gradients": {name: [float(f"{value:.9g}") for value in each.flatten().tolist()] for name, each in gradients.items()},
            "errors": {"loss": abs(narrow[0][0].item() - loss.item()), **errors}}


def seeded(op, sample, dtype, seed):
    torch.manual_seed(seed)
    loss, gradients, added = numbers(Sample(op, sample, dtype))
    if not all(bool(torch.isfinite(each).all()) for each in (loss, *gradients.values())):
        raise LeftOut("a loss or gradient that is not finite")
    return loss, gradients, added


def program(module):
    """The graph of the training IR as an archive has it, without locations, and the bytes of its tensors."""
    exported = torch.export.export(module, tuple(module.given), strict=False)
    file = BytesIO()
    torch.export.save(exported, file)
    with zipfile.ZipFile(file) as archive:
        names = {name.split("/", 1)[1]: name for name in archive.namelist()}
        model = json.loads(archive.read(names["models/model.json"]))["graph_module"]
        tensors = {}
        for kind in ("weights", "constants"):
            config = json.loads(archive.read(names[f"data/{kind}/model_{kind}_config.json"]))["config"]
            for name, entry in config.items():
                tensors[name] = [entry["tensor_meta"], archive.read(names[f"data/{kind}/{entry['path_name']}"]).hex()]
    for node in walk(model["graph"]):
        node["metadata"] = {}
    return {"graph": model["graph"], "specs": model["signature"]["input_specs"], "output": model["signature"]["output_specs"][0]["user_output"]["arg"]["as_tensor"]["name"],
            "tensors": tensors}


def identity(stored):
    """Equal for samples with the same ops and the same arguments besides tensors."""
    argument = lambda given: sorted(given["arg"]) if "name" in json.dumps(given["arg"]) else given["arg"]
    return json.dumps([[node["target"], [[given["name"], argument(given)] for given in node["inputs"]]] for node in walk(stored["graph"])])


def values_of(module):
    return [[str(each.dtype).removeprefix("torch."), list(each.shape), each.flatten().tolist()] for each in module.given]


def samples_of(op, reasons):
    with torch.enable_grad():
        samples = list(op.sample_inputs("cpu", torch.float32, requires_grad=True))
    built = []
    for sample in samples:
        try:
            module = Sample(op, sample, torch.float32)
            if not list(module.parameters()):
                raise LeftOut("no float argument")
            if any(each.numel() == 0 for each in [*module.parameters(), *module.given]):
                raise LeftOut("an empty argument")
            built.append((count(module), module, sample))
        except LeftOut as reason:
            reasons[str(reason)] = reasons.get(str(reason), 0) + 1
    built.sort(key=lambda each: each[0])
    small = [each for each in built if each[0] <= ELEMENTS] if sum(each[0] <= ELEMENTS for each in built) >= 3 else built[:3]
    step = max(1, len(small) / CANDIDATES)
    stored, seen, equal = [], set(), []
    for i in range(min(CANDIDATES, len(small))):
        _, module, sample = small[int(i * step)]
        try:
            result = reference(op, sample) | program(module) | {"inputs": values_of(module)}
            key = identity(result)
            (equal if key in seen else stored).append(result)
            seen.add(key)
        except LeftOut as reason:
            reasons[str(reason)] = reasons.get(str(reason), 0) + 1
        except Exception as error:
            key = f"torch.export: {type(error).__name__}"
            reasons[key] = reasons.get(key, 0) + 1
    return stored[:STORED] + equal[:max(0, 3 - len(stored))], len(samples)


def main():
    warnings.simplefilter("ignore")
    wanted = set(sys.argv[1:])
    entries, counts = {}, {}
    for op in op_db:
        name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        if not op.supports_autograd or torch.float32 not in op.supported_dtypes("cpu") or op.name.split(".")[0] in FAMILIES or op.name.startswith(FAMILIES):
            continue
        if wanted and name not in wanted:
            continue
        reasons = {}
        torch.manual_seed(zlib.crc32(name.encode()))
        try:
            stored, total = samples_of(op, reasons)
        except Exception as error:
            stored, total = [], 0
            reasons[f"the generator of samples: {type(error).__name__}"] = 1
        entries[name] = stored
        counts[name] = {"samples": total, "left out": reasons}
        print(f"{name}: {len(stored)} of {total} {reasons or ''}", file=sys.stderr, flush=True)
    path = Path(sys.argv[0]).parent / "export-op-db.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        def write(name, value):
            archive.writestr(zipfile.ZipInfo(name), json.dumps(value, separators=(",", ":")), compress_type=zipfile.ZIP_DEFLATED, compresslevel=9)
        for name, stored in entries.items():
            write(f"{name}.json", stored)
        write("counts", {"torch": torch.__version__, "entries": counts})
    print(f"{len(entries)} entries, {sum(map(len, entries.values()))} samples, {path.stat().st_size} bytes", file=sys.stderr)


main()
