"""The models of test/bench/own-model.sh, and their steps in PyTorch.

    python own_model.py export NAME FOLDER             the archive of torch.export and the data of the steps
    python own_model.py run NAME FOLDER eager|compile STEPS    one JSON line: milliseconds of each step

AdamW without weight decay on float32, all cores, random data, dropout off. `compile` is torch.compile of the module with its
defaults; its compilation is in the first step. FOLDER/data.safetensors has the batches, which both programs read in order.
"""

import json
import os
import sys
import time
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

BATCHES = 4


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.attention, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        rows, length, width = x.shape
        q, k, v = (part.view(rows, length, self.heads, -1).transpose(1, 2) for part in self.attention(self.norms[0](x)).chunk(3, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(mixed.transpose(1, 2).reshape(rows, length, width))
        return x + self.down(F.gelu(self.up(self.norms[1](x)), approximate="tanh"))


class NanoGpt(nn.Module):
    def __init__(self, words=4096, length=128, width=256, layers=4, heads=4):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(GptBlock(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens, targets):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())


class UNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        pair = lambda channels, out: nn.Sequential(nn.Conv2d(channels, out, 3, padding=1), nn.GroupNorm(4, out), nn.SiLU(),
                                                   nn.Conv2d(out, out, 3, padding=1), nn.GroupNorm(4, out), nn.SiLU())
        self.down = nn.ModuleList([pair(3, width), pair(width, 2 * width), pair(2 * width, 4 * width)])
        self.across = nn.ModuleList([nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2), nn.ConvTranspose2d(2 * width, width, 2, stride=2)])
        self.up = nn.ModuleList([pair(4 * width, 2 * width), pair(2 * width, width)])
        self.head = nn.Conv2d(width, 3, 1)

    def forward(self, images, targets):
        kept, x = [], images
        for number, block in enumerate(self.down):
            x = block(x if number == 0 else F.max_pool2d(x, 2))
            kept.append(x)
        for across, block, skip in zip(self.across, self.up, reversed(kept[:-1])):
            x = block(torch.cat([across(x), skip], dim=1))
        return F.mse_loss(self.head(x), targets)


class Classifier(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, images, classes):
        return F.cross_entropy(self.model(images), classes)


class MaskedWords(nn.Module):
    def __init__(self, words=4096):
        super().__init__()
        import transformers
        config = transformers.BertConfig(vocab_size=words, hidden_size=256, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=4,
                                         max_position_embeddings=128, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        self.model = transformers.BertForMaskedLM(config)

    def forward(self, tokens, targets):
        return F.cross_entropy(self.model(tokens).logits.flatten(0, 1), targets.flatten())


def resnet18():
    import torchvision
    return Classifier(torchvision.models.resnet18(num_classes=100))


def vit():
    import torchvision
    return Classifier(torchvision.models.VisionTransformer(64, 8, 4, 4, 256, 1024, num_classes=100))


def words(rows=4, length=128, count=4096):
    return lambda: {name: torch.randint(0, count, (rows, length)) for name in ("tokens", "targets")}


def pictures(rows, size):
    return lambda: {"images": torch.randn(rows, 3, size, size), "classes": torch.randint(0, 100, (rows,))}


MODELS = {"resnet18": (resnet18, pictures(8, 64)), "vit": (vit, pictures(8, 64)), "bert": (MaskedWords, words()), "nanogpt": (NanoGpt, words()),
          "unet": (UNet, lambda: {name: torch.randn(4, 3, 64, 64) for name in ("images", "targets")})}


def export(name, folder):
    create, batch = MODELS[name]
    module, batches = create().train(), [batch() for _ in range(BATCHES)]
    torch.export.save(torch.export.export(module, (), batches[0], strict=False), folder / "model.pt2")
    save_file({key: torch.cat([each[key] for each in batches]).contiguous() for key in batches[0]}, folder / "data.safetensors")


def run(name, folder, form, steps):
    create, batch = MODELS[name]
    module = create().train()
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-4, weight_decay=0.0)
    step = torch.compile(module) if form == "compile" else module
    data = load_file(folder / "data.safetensors")
    rows = len(next(iter(batch().values())))
    times = []
    for number in range(steps):
        begin = number % BATCHES * rows
        inputs = {key: value[begin:begin + rows] for key, value in data.items()}
        began = time.perf_counter()
        loss = step(**inputs)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        times.append((time.perf_counter() - began) * 1000)
    print(json.dumps({"torch": torch.__version__, "step_ms": times}))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    if sys.argv[1] == "export":
        export(sys.argv[2], Path(sys.argv[3]))
    else:
        run(sys.argv[2], Path(sys.argv[3]), sys.argv[4], int(sys.argv[5]))


if __name__ == "__main__":
    main()
