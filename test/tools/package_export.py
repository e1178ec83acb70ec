"""package_export.py FOLDER [FUNCTION...]: sluice.torch.export, with PyTorch. package-torch.test runs it.

Losses of steps of SGD are compared with those of PyTorch on the same rows."""

import torch
import torch.nn.functional as F
import torch.utils.checkpoint as checkpoints
from torch import nn

from package import *

ROWS, WIDTH, CLASSES, RATE = 4, 8, 5, 0.1
SGD = {"optimizer.name": "sgd", "optimizer.lr": RATE}


class Mlp(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(layers))
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Checkpointed(Mlp):
    def __init__(self, reentrant):
        super().__init__()
        self.reentrant = reentrant

    def forward(self, x):
        # The reentrant form has gradients only if an argument has.
        return self.head(checkpoints.checkpoint(self.layers[1], self.layers[0](x), use_reentrant=self.reentrant))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(CLASSES, WIDTH), nn.Linear(WIDTH, CLASSES, bias=False)
        self.head.weight = self.table.weight

    def forward(self, tokens, targets):
        return {"score": F.cross_entropy(self.head(self.table(tokens)), targets)}


class NoGrad(Mlp):
    def forward(self, x):
        with torch.no_grad():
            frozen = torch.absolute(self.layers[0](x))
        return self.head(frozen + self.layers[1](self.layers[0](x)))


def data(rows=ROWS, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, WIDTH, generator=generator), torch.randint(CLASSES, (rows,), generator=generator)


def torch_losses(module, call, steps=3):
    optimizer, losses = torch.optim.SGD(module.parameters(), RATE), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = call(module)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def sluice_losses(model, inputs, steps=3, recipe=None):
    with sluice.Trainer(sluice.compile(model, {**SGD, **(recipe or {})}), init=model) as trainer:
        return [trainer.step(inputs) for _ in range(steps)]


def same_losses(module, model, inputs, call, **options):
    found = sluice_losses(model, inputs, **options)
    expect_near(found, torch_losses(module, call), 1e-5, type(module).__name__)


def function_as_loss():
    """Names of parameters and inputs are those of the module."""
    module, (x, y) = Mlp(), data()
    model = sluice.torch.export(module, (x,), loss=lambda output, target: F.cross_entropy(output, target), targets=(y,), path=SCRATCH / "m.pt2")
    expect("forward" not in vars(module), "the module's forward is still replaced")
    expect("@head.weight" in model.text and 'model.input = "x"' in model.text and 'model.input = "target"' in model.text, model.text[:800])
    expect((SCRATCH / "m.pt2").exists() and model.source == str(SCRATCH / "m.pt2"), "the archive")
    same_losses(module, model, {"x": x, "target": y}, lambda module: F.cross_entropy(module(x), y))


def rows_are_free():
    module = Mlp()
    x, y = data()
    model = sluice.torch.export(module, (x,), loss=lambda output, target: F.cross_entropy(output, target), targets=(y,), path=SCRATCH / "m.pt2")
    expect(f"tensor<{ROWS}x{WIDTH}xf32>" in model.text, "the example's rows are not the default")
    x, y = data(7)
    same_losses(module, sluice.load(SCRATCH / "m.pt2", batch=7), {"x": x, "target": y}, lambda module: F.cross_entropy(module(x), y))
    static = sluice.torch.export(module, data()[:1], loss=lambda output: output.square().mean(), dynamic_batch=False, path=SCRATCH / "s.pt2")
    expect(f"tensor<{ROWS}x{WIDTH}xf32>" in static.text, "a static archive")
    expect_error(lambda: sluice.load(SCRATCH / "s.pt2", batch=7), 1, "no input has a dynamic first dim")


def ties_with_and_without_bytes():
    module = Tied()
    x, y = torch.arange(ROWS) % CLASSES, torch.arange(ROWS) * 3 % CLASSES
    model = sluice.torch.export(module, (x, y), loss="score")
    expect_equal(model.report["parameters"]["count"], 1, "parameters with bytes")
    same_losses(module, model, {"tokens": x, "targets": y}, lambda module: module(x, y)["score"])
    bare = sluice.torch.export(module, (x, y), loss="score", weights=False, path=SCRATCH / "bare.pt2")
    expect_equal(bare.report["parameters"]["count"], 1, "parameters without bytes")
    expect(module.head.weight.device.type == "cpu", "the module lost its weights")
    expect_error(lambda: sluice.Trainer(sluice.compile(bare), init=SCRATCH / "bare.pt2"), 4, "has no bytes in the archive")
    with torch.device("meta"):
        meta = Tied()
    expect_equal(sluice.torch.export(meta, (x.to("meta"), y.to("meta")), loss="score").report["parameters"]["count"], 1, "parameters on the device meta")


def marks_of_checkpoints():
    x, y = data()
    for reentrant in (False, True):
        module = Checkpointed(reentrant)
        model = sluice.torch.export(module, (x,), loss=lambda output, target: F.cross_entropy(output, target), targets=(y,))
        expect_equal(model.text.count("model.checkpoint"), 2, f"regions in training and evaluation, reentrant {reentrant}")
        plan = sluice.compile(model, {**SGD, "recompute.policy": "marked"})
        plan.save(SCRATCH / "m.plan")
        expect(" recompute: " in run("sluice-plan", "print", SCRATCH / "m.plan").stdout, "nothing is recomputed")
        same_losses(module, model, {"x": x, "target": y}, lambda module: F.cross_entropy(module(x), y), recipe={"recompute.policy": "marked"})


def one_op_decomposed():
    """The results of the no-grad region stay detached: losses of three steps are those of PyTorch."""
    module, (x, y) = NoGrad(), data()
    model = sluice.torch.export(module, (x,), loss=lambda output, target: F.cross_entropy(output, target), targets=(y,), decompose=["aten.absolute"])
    same_losses(module, model, {"x": x, "target": y}, lambda module: F.cross_entropy(module(x), y))
    expect_error(lambda: sluice.torch.export(module, (x,), loss=lambda output: output.mean(), decompose=["aten.none"]), 1, "no decomposition of aten.none")


def both_modes():
    """A module that computes something else in eval mode."""
    class Scaled(Mlp):
        def forward(self, x):
            return super().forward(x if self.training else 2 * x).square().mean()
    module, (x, _) = Scaled(), data()
    model = sluice.torch.export(module, (x,), eval=True)
    expect(module.training, "the module is in eval mode")
    with sluice.Trainer(sluice.compile(model, SGD), init=model) as trainer, torch.no_grad():
        expect_near([trainer.run("eval_step", x=x).loss], [float(module.eval()(x))], 1e-5, "loss in eval mode")


def refusals():
    module, (x, _) = Mlp(), data()
    expect_error(lambda: sluice.torch.export(module.eval(), (x,)), 1, "the module is in eval mode", "note: call module.train()")
    expect_error(lambda: sluice.torch.export(module.train().half(), (x,)), 1, "'layers.0.0.weight' has the type torch.float16", "note: call module.float()")
    expect_error(lambda: sluice.torch.export(lambda x: x, (x,)), 1, "'function' is no torch.nn.Module")
    expect_error(lambda: sluice.torch.export(module.float(), (x,), loss="score"), 1, "score")


SCRATCH.mkdir(parents=True, exist_ok=True)
for name in sys.argv[2:] or ["function_as_loss", "rows_are_free", "ties_with_and_without_bytes", "marks_of_checkpoints", "one_op_decomposed", "both_modes", "refusals"]:
    helpers.current = name
    globals()[name]()
sys.exit("\n".join(helpers.problems) or 0)
