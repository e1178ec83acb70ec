"""Sluice: compile a model for sharded training, predict its memory, and train it.

    model = sluice.load("model.pt2")
    plan = sluice.compile(model, {"mesh": {"shard": 2}})
    with sluice.Trainer(plan, init="model.pt2") as trainer:
        loss = trainer.step(tokens=tokens, targets=targets, lr=1e-3)

`sluice.torch.export` writes the archive of a PyTorch module. Nothing here needs other packages; functions raise `sluice.Error`."""

import importlib
from typing import Any

from .errors import Error
from .fitting import fit
from .model import Model, load
from .plan import Plan, compile
from .tensor import Tensor
from .trainer import Result, Trainer

__all__ = ["Error", "Model", "Plan", "Result", "Tensor", "Trainer", "compile", "fit", "load"]


def __getattr__(name: str) -> Any:
    if name == "torch":
        return importlib.import_module("sluice.torch")
    if name == "__version__":
        from .library import runtime
        return str(runtime().sluice_version().decode())
    raise AttributeError(f"module 'sluice' has no attribute '{name}'")
