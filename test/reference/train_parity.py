"""Writes test/reference/train-parity: what PyTorch computes for the models of FSDP's training tests, in one process.

    python3 -m venv venv && venv/bin/pip install torch==2.15.0 numpy safetensors expecttest
    venv/bin/python test/reference/train_parity.py

A case is a model of the zoo with the sizes, the data and the optimizer of a reference test (docs/behaviours.md). The
modules are those that the reference tests import, with PyTorch's initial weights. For each case index.json has:

- `zoo`, `optimizer`, `steps`, `microbatches`, `entries`: the run; learning rate 1e-2, for SGD with momentum 0.9
- `init`, `data`: files of the initial weights, and of the inputs of all steps in sequential order
- `grad`: the file of the gradients of the first step, in f64 rounded to f32
- `loss`: the losses of all steps in f64, with several entry points those of the first
- `loss_tolerance`: four times the largest error of PyTorch's losses in f32, plus four roundings to f32
- `final`: only if the ReLUs of an MLP make a loss zero, after which losses show nothing: the file of the parameters after the last step, in f64
  rounded to f32
- `final_tolerance`: 1e-5, or four times the largest error of PyTorch's f32 parameters if that is more
- `gradient_tolerance`: 1e-5, the absolute tolerance of PyTorch's tests, or four times the largest error of PyTorch's
  f32 gradients if that is more
"""

import copy
import json
import os
import unittest.mock
import warnings
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist
from safetensors.torch import save
from torch import nn
from torch.nn import functional
from torch.testing._internal.common_fsdp import MLP, DEVICEInitMode, DoubleLinear, MLPStack, TransformerWithSharedParams
from torch.testing._internal.distributed._tensor.common_dtensor import ModelArgs, Transformer

warnings.simplefilter("ignore")


class MultiForwardModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(4, 4), nn.Linear(4, 5)

    def forward(self, x):
        return self.outer(self.inner(x) + self.inner(x))


class ModuleWithUnusedLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.unused_lin, self.lin = nn.Linear(1, 1), nn.Linear(16, 16)

    def forward(self, x):
        return functional.relu(self.lin(x))


class ReduceModule(nn.Module):
    """Its all-reduce is the identity on one rank."""

    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim, dim))

    def forward(self, x):
        return functional.relu(torch.matmul(x, self.weight))


class ReduceModel(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        for i in (1, 2, 3):
            setattr(self, f"reduce_module{i}", ReduceModule(dim))
        self.mlps = nn.ModuleDict({f"mlp{i}": MLP(dim) for i in (1, 2, 3)})

    def forward(self, x):
        return sum(self.mlps[f"mlp{i}"](getattr(self, f"reduce_module{i}")(x)) for i in (1, 2, 3))


class SharedLinear(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.lin2.weight = self.lin1.weight

    def forward(self, x):
        return self.lin2(functional.relu(self.lin1(x)))


class TwoForwards(Transformer):
    def forward(self, tokens, again):
        return super().forward(tokens), super().forward(again)


class EncoderDecoder(TransformerWithSharedParams):
    """Rows of the batch precede tokens, as in the zoo."""

    def forward(self, src, tgt):
        return super().forward(src.T, tgt.T).transpose(0, 1)


def linears(*shapes):
    (first, second) = shapes
    return nn.Sequential(nn.Linear(*first), nn.ReLU(), nn.Linear(*second))


def stack(dim, norm=False):
    mlps = MLPStack(dim)
    return nn.Sequential(nn.LayerNorm(dim, bias=False), *mlps) if norm else mlps


def encoder_decoder():
    return EncoderDecoder(dist.group.WORLD, DEVICEInitMode.DEVICE_NEVER, add_bn=False, deterministic=True)


def floats(*shape):
    return lambda rows: {"x": torch.randn(rows, *shape)}


def tokens(vocabulary, *names, **lengths):
    return lambda rows: {name: torch.randint(0, vocabulary, (rows, length), dtype=torch.int32)
                         for name, length in lengths.items()}


class Case:
    def __init__(self, name, zoo, module, data, batch, optimizer="adam", steps=10, microbatches=1, fresh=False,
                 entries=(), **settings):
        """`fresh`: each step has new rows. `entries`: the entry points of a step, each with the module that it runs."""
        self.name, self.module, self.batch, self.optimizer, self.steps = name, module, batch, optimizer, steps
        self.microbatches, self.entries = microbatches, entries or (("train_step", lambda module: module),)
        self.zoo = " ".join([zoo, *(f"--set {key}={value}" for key, value in {"batch": batch, **settings}.items())])
        torch.manual_seed(42)
        self.initial = module()
        torch.manual_seed(43)
        self.data = data(batch * microbatches * (steps if fresh else 1))


OPTIMIZERS = {"adam": partial(torch.optim.Adam, lr=1e-2), "adamw": partial(torch.optim.AdamW, lr=1e-2),
              "sgd": partial(torch.optim.SGD, lr=1e-2, momentum=0.9)}


def transformer(module=Transformer, **sizes):
    return lambda: module(ModelArgs(dropout_p=0.0, **sizes))


def cases():
    for name, first, second in (("16-15-8", (16, 15), (15, 8)), ("7-15-3", (7, 15), (15, 3)),
                                ("16-17-8", (16, 17), (17, 8)), ("32-16-8", (32, 16), (16, 8))):
        yield Case(f"linears-{name}", "linear-relu-linear", lambda: linears(first, second), floats(first[0]), 4,
                   **{"in": first[0], "hidden": first[1], "out": second[1]})
    yield Case("transformer-3", "transformer", transformer(n_layers=3, n_heads=4, vocab_size=1024, max_seq_len=64),
               tokens(1024, tokens=64), 3, fresh=True, layers=3, vocab=1024, max_sequence=64, sequence=64, dropout=0)
    yield Case("transformer-8", "transformer", transformer(n_layers=8), tokens(8, tokens=8), 2, layers=8, sequence=8,
               dropout=0)
    yield Case("transformer-adamw", "transformer", transformer(n_layers=3), tokens(8, tokens=16), 2, "adamw", steps=5,
               layers=3, dropout=0)
    yield Case("transformer-tied", "transformer", transformer(n_layers=3), tokens(8, tokens=16), 2, fresh=True,
               layers=3, dropout=0)
    yield Case("transformer-untied", "transformer", transformer(weight_tying=False), tokens(8, tokens=16), 2, "adamw",
               tied="false", dropout=0)
    yield Case("transformer-microbatches", "transformer", transformer(), tokens(8, tokens=16), 2, microbatches=3,
               fresh=True, dropout=0)
    yield Case("two-forwards", "two-forwards", transformer(TwoForwards, n_layers=3),
               tokens(8, tokens=16, tokens_again=16), 2)
    yield Case("nested-recompute", "nested-recompute", transformer(n_layers=3), tokens(8, tokens=16), 2)
    yield Case("encoder-decoder", "encoder-decoder", encoder_decoder, tokens(23, src=6, tgt=4), 2, fresh=True)
    yield Case("mlp", "mlp", lambda: MLP(16), floats(16), 4)
    yield Case("mlp-sequence", "mlp-sequence", lambda: nn.Sequential(*(MLP(32) for _ in range(3))), floats(32), 8,
               "sgd", entries=(("train_step", lambda module: module), ("train_first", lambda module: module[0])), dim=32)
    yield Case("multi-forward", "multi-forward", MultiForwardModule, floats(4), 32)
    yield Case("linear-mlps", "linear-mlps", lambda: nn.Sequential(nn.Linear(32, 32), *(MLP(32) for _ in range(3))),
               floats(32), 2, steps=5, microbatches=3, fresh=True)
    for dim in (3, 5, 16, 17):
        yield Case(f"mlp-stack-{dim}", "mlp-stack", lambda: stack(dim), floats(dim), 8, dim=dim)
    for dim in (3, 16, 17):
        yield Case(f"norm-mlps-{dim}", "norm-mlps", lambda: stack(dim, norm=True), floats(dim), 2, steps=5,
                   microbatches=3, fresh=True, dim=dim)
    yield Case("double-linear", "double-linear", lambda: DoubleLinear(8), floats(8), 4)
    yield Case("two-losses", "two-losses", lambda: nn.Sequential(nn.Linear(8, 8), DoubleLinear(8)), floats(8), 4)
    yield Case("unused-linear", "unused-linear",
               lambda: nn.Sequential(ModuleWithUnusedLinear(), ModuleWithUnusedLinear(), nn.Linear(16, 16)), floats(16),
               4)
    yield Case("shared-linear", "shared-linear", SharedLinear, floats(8), 4)
    yield Case("reduce-model", "reduce-model", ReduceModel, floats(8), 2)


def loss_of(module, rows):
    outputs = module(*rows.values())
    if isinstance(module, EncoderDecoder):
        return functional.cross_entropy(outputs.flatten(0, 1), rows["tgt"].flatten(), reduction="sum")
    return sum(output.sum() for output in (outputs if isinstance(outputs, tuple) else (outputs,)))


def train(case, dtype):
    """The losses of all steps, the gradients of the first, and the last parameters. A loss is the mean over micro-batches."""
    module = copy.deepcopy(case.initial).to(dtype)
    optimizer = OPTIMIZERS[case.optimizer](module.parameters())
    data = {name: values.to(dtype) if values.is_floating_point() else values.long()
            for name, values in case.data.items()}
    losses, gradients = [], None
    count = len(next(iter(data.values())))
    for step in range(case.steps):
        for entry, part_of in case.entries:
            optimizer.zero_grad()
            total = 0
            for part in range(case.microbatches):
                begin = (step * case.microbatches + part) * case.batch % count
                rows = {name: values[begin:begin + case.batch] for name, values in data.items()}
                loss = loss_of(part_of(module), rows) / case.microbatches
                loss.backward()
                total += loss.item()
            if entry == "train_step":
                losses.append(total)
                gradients = gradients or {name: p.grad.clone() for name, p in module.named_parameters()
                                          if p.grad is not None}
            optimizer.step()
    return losses, gradients, {name: p.detach() for name, p in module.named_parameters()}


def largest_error(exact, rounded):
    return max((exact[name] - rounded[name]).abs().max().item() for name in exact)


def write(folder):
    folder.mkdir(exist_ok=True)
    index, files = {}, {}
    for case in cases():
        # The Transformer casts its logits to f32.
        with unittest.mock.patch.object(torch.Tensor, "float", lambda tensor: tensor):
            losses, gradients, final = train(case, torch.float64)
        rounded, rounded_gradients, rounded_final = train(case, torch.float32)
        error = max(abs(a - b) for a, b in zip(losses, rounded)) + 2**-24 * max(map(abs, losses))
        parts = {"init": {name: p.detach() for name, p in case.initial.named_parameters()},
                 "grad": {name: gradient.float() for name, gradient in gradients.items()},
                 "data": case.data}
        tolerances = {"gradient_tolerance": largest_error(gradients, rounded_gradients)}
        if 0 in losses:
            parts["final"] = {name: p.float() for name, p in final.items()}
            tolerances["final_tolerance"] = largest_error(final, rounded_final)
        stored = {kind: save(tensors) for kind, tensors in parts.items()}
        for kind, tensors in stored.items():
            (folder / files.setdefault(tensors, f"{case.name}.{kind}.safetensors")).write_bytes(tensors)
        index[case.name] = {"zoo": case.zoo, "optimizer": case.optimizer, "steps": case.steps,
                            "microbatches": case.microbatches, "entries": [entry for entry, _ in case.entries],
                            **{kind: files[tensors] for kind, tensors in stored.items()},
                            **{name: max(1e-5, 4 * value) for name, value in tolerances.items()},
                            "loss_tolerance": 4 * error, "loss": losses}
    text = ",\n".join(f' "{name}": {json.dumps(row)}' for name, row in index.items())
    (folder / "index.json").write_text(f'{{"torch": "{torch.__version__.split("+")[0]}",\n"cases": {{\n{text}\n}}}}\n')


if __name__ == "__main__":
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="29555")
    dist.init_process_group("gloo", rank=0, world_size=1)
    write(Path(__file__).parent / "train-parity")
    dist.destroy_process_group()
