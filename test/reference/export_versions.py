"""Writes archives of torch.export of three small modules by the torch that runs it, into export-versions/VERSION/. Their parameters are the same numbers for each version.

usage: export_versions.py        (torch 2.9.1, 2.11.0, 2.13.0 and 2.15.0, one after another)
"""

import sysconfig
import zipfile
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

FOLDER = Path(__file__).resolve().parent / "export-versions"


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(24, 16)
        self.norm = nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)
        self.head = nn.Linear(16, 24, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens, targets):
        x = self.tokens(tokens)
        q, k, v = (y.unflatten(2, (2, 8)).transpose(1, 2) for y in self.qkv(self.norm(x)).chunk(3, dim=2))
        mask = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).tril()
        x = x + functional.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)
        return functional.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())


class Average(nn.Module):
    """A region without gradient writes a buffer in place."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 4)
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        y = functional.gelu(self.layer(x))
        with torch.no_grad():
            self.mean.mul_(0.9).add_(y.mean(0), alpha=0.1)
        return {"loss": ((y - self.mean) ** 2).mean(), "y": y}


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 5)

    def forward(self, x, label):
        y = functional.max_pool2d(functional.relu(self.norm(self.conv(x))), 2)
        return functional.cross_entropy(self.head(functional.adaptive_avg_pool2d(y, 1).flatten(1)), label)


def without_folders(path):
    with zipfile.ZipFile(path) as archive:
        entries = [(info.filename, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries:
            if name.endswith("models/model.json"):
                for folder in (sysconfig.get_path("purelib"), str(FOLDER.parent)):
                    data = data.replace(f"{folder}/".encode(), b"")
            archive.writestr(zipfile.ZipInfo(name), b"" if "sample_inputs" in name else data)


def main():
    folder = FOLDER / torch.__version__.split("+")[0]
    folder.mkdir(parents=True, exist_ok=True)
    tokens, label = torch.zeros(2, 8, dtype=torch.int64), torch.zeros(4, dtype=torch.int64)
    for name, model, inputs in (("transformer", Transformer(), (tokens, tokens.clone())), ("average", Average(), (torch.zeros(4, 6),)), ("images", Images(), (torch.zeros(4, 3, 8, 8), label))):
        for number, parameter in enumerate(model.parameters()):
            parameter.data = (torch.arange(parameter.numel()) * (2 * number + 1) % 17 / 17 - 0.5).float().view_as(parameter)
        torch.export.save(torch.export.export(model.train(), inputs, strict=False), folder / f"{name}.pt2")
        without_folders(folder / f"{name}.pt2")


main()
