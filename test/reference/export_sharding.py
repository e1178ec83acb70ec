"""Writes archives of torch.export without weights: two blocks each of BERT, ViT, T5 and an MLP-mixer at widths where communication pays.

usage: export_sharding.py        (torch 2.15.0, transformers 5.24.0)
"""

import json
import warnings
import zipfile
from pathlib import Path

import torch
import transformers
from export_routes import without_folders
from torch import nn

FOLDER = Path(__file__).resolve().parent / "export-sharding"


class Mixer(nn.Module):
    def __init__(self, tokens=256, width=512):
        super().__init__()
        mlp = lambda size, hidden: nn.Sequential(nn.Linear(size, hidden), nn.GELU(), nn.Linear(hidden, size))
        self.embed = nn.Linear(192, width)
        self.blocks = nn.ModuleList(nn.ModuleDict({"norm1": nn.LayerNorm(width), "tokens": mlp(tokens, 4 * tokens), "norm2": nn.LayerNorm(width), "channels": mlp(width, 4 * width)})
                                    for _ in range(2))
        self.head = nn.Linear(width, 1000)

    def forward(self, patches, label):
        x = self.embed(patches)
        for block in self.blocks:
            x = x + block["tokens"](block["norm1"](x).transpose(1, 2)).transpose(1, 2)
            x = x + block["channels"](block["norm2"](x))
        return nn.functional.cross_entropy(self.head(x.mean(1)), label)


class Loss(nn.Module):
    def __init__(self, model, *names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs):
        return {"loss": self.model(**dict(zip(self.names, inputs))).loss}


def models():
    c = transformers
    tokens = torch.zeros(2, 256, dtype=torch.int64)
    sizes = {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 2, "num_attention_heads": 8}
    yield "bert", Loss(c.BertForMaskedLM(c.BertConfig(vocab_size=8192, **sizes, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)), "input_ids", "labels"), (tokens, tokens.clone())
    yield "vit", Loss(c.ViTForImageClassification(c.ViTConfig(**sizes, image_size=64, patch_size=4, num_labels=1000)), "pixel_values", "labels"), (torch.zeros(2, 3, 64, 64), tokens[:, 0].clone())
    config = c.T5Config(vocab_size=8192, d_model=512, d_kv=64, d_ff=2048, num_layers=2, num_heads=8, dropout_rate=0.0, decoder_start_token_id=0, pad_token_id=0)
    yield "t5", Loss(c.T5ForConditionalGeneration(config), "input_ids", "labels"), (tokens[:, :128].clone(), tokens[:, :128].clone())
    yield "mixer", Mixer(), (torch.zeros(2, 256, 192), tokens[:, 0].clone())


def without_parameters(path):
    with zipfile.ZipFile(path) as archive:
        entries = {info.filename: archive.read(info) for info in archive.infolist()}
    config = json.loads(next(data for name, data in entries.items() if name.endswith("model_weights_config.json")))["config"]
    dropped = {f"/{tensor['path_name']}" for tensor in config.values() if tensor["is_param"]}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            is_dropped = "sample_inputs" in name or any(name.endswith(each) for each in dropped)
            archive.writestr(zipfile.ZipInfo(name), b"" if is_dropped else data)


def main():
    warnings.filterwarnings("ignore")
    FOLDER.mkdir(exist_ok=True)
    for name, model, inputs in models():
        torch.export.save(torch.export.export(model.train(), inputs, strict=False), FOLDER / f"{name}.pt2")
        without_folders(FOLDER / f"{name}.pt2")
        without_parameters(FOLDER / f"{name}.pt2")


if __name__ == "__main__":
    main()
