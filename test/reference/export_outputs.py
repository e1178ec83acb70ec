"""Writes an archive of torch.export of a small GPT that returns (logits, loss), and the tokens that PyTorch's module in eval mode generates from it, each the most likely one.

usage: export_outputs.py        (torch 2.15.0)
"""

import json
from pathlib import Path

import torch
from export_routes import without_folders
from torch import nn
from torch.nn import functional

FOLDER = Path(__file__).resolve().parent / "export-outputs"
VOCABULARY, LENGTH, WIDTH, HEADS, ROWS, COUNT = 96, 16, 32, 4, 2, 24


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x):
        q, k, v = (y.view(*y.shape[:2], HEADS, -1).transpose(1, 2) for y in self.qkv(self.norm(x)).split(WIDTH, dim=2))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        return x + self.dropout(self.out(y))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, idx, targets):
        x = self.tokens(idx) + self.positions.weight
        for block in self.blocks:
            x = block(x)
        logits = self.head(x)
        return logits, functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def generate(model, prompt):
    tokens = list(prompt.encode())
    for _ in range(COUNT):
        seen = tokens[-LENGTH:]
        rows = torch.zeros(ROWS, LENGTH, dtype=torch.int64)
        rows[:, :len(seen)] = torch.tensor(seen)
        best = model(rows, rows)[0][0, len(seen) - 1].topk(2)
        assert best.values[0] - best.values[1] > 1e-3, "the most likely token is not certain"
        tokens.append(int(best.indices[0]))
    return tokens[len(prompt):]


def main():
    torch.manual_seed(5)
    model = GPT()
    for parameter in model.parameters():
        nn.init.normal_(parameter, 0.0, 0.5)
    rows = torch.zeros(ROWS, LENGTH, dtype=torch.int64)
    FOLDER.mkdir(exist_ok=True)
    torch.export.save(torch.export.export(model.train(), (rows, rows.clone()), strict=False), FOLDER / "model.pt2")
    without_folders(FOLDER / "model.pt2")
    model.eval()
    with torch.no_grad():
        generated = {prompt: generate(model, prompt) for prompt in ("A", "0123456789", "THE LAST OF THE LONG PROMPTS")}
    (FOLDER / "expected.json").write_text(json.dumps({"versions": {"torch": torch.__version__}, "generated": generated}) + "\n")


if __name__ == "__main__":
    main()
