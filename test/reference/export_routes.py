"""Writes archives of torch.export of transformers' models with the configs of export-routes/models.json, for the comparison with the import of those configs.

usage: export_routes.py [NAME...]        (torch 2.15.0, transformers 5.24.0)
"""

import json
import sys
import sysconfig
import warnings
import zipfile
from pathlib import Path

import torch
import transformers

FOLDER = Path(__file__).resolve().parent / "export-routes"
LIBRARIES = sysconfig.get_path("purelib")


class WithLoss(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, labels):
        return {"loss": self.model(input_ids=input_ids, labels=labels, use_cache=False).loss}


def without_folders(path):
    """Stack traces name this machine's folders."""
    with zipfile.ZipFile(path) as archive:
        entries = [(info, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(path, "w") as archive:
        for info, data in entries:
            if info.filename.endswith("models/model.json"):
                data = data.replace(f"{LIBRARIES}/".encode(), b"site-packages/").replace(f"{FOLDER.parent}/".encode(), b"")
            archive.writestr(zipfile.ZipInfo(info.filename), data)


def main():
    warnings.filterwarnings("ignore")
    for name, config in json.loads((FOLDER / "models.json").read_text()).items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        torch.manual_seed(0)
        model = WithLoss(transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(**config))).train()
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, 1.0 if parameter.ndim == 1 else 0.0, 0.1)
        rows = torch.zeros(4, 16, dtype=torch.int64)
        torch.export.save(torch.export.export(model, (rows, rows.clone()), strict=False), FOLDER / f"{name}.pt2")
        without_folders(FOLDER / f"{name}.pt2")


if __name__ == "__main__":
    main()
