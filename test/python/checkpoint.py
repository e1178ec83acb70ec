"""Reads checkpoints, and trains with one after each step."""

import collections
import itertools
import json
import math
import os
import struct
import tempfile
from pathlib import Path

from sluice import SCRATCH, expect_equal, read_log, run

FORMATS = {"F32": ("f", 4), "F64": ("d", 8)}


def read_checkpoint(checkpoint):
    """Bytes of each tensor of a checkpoint's files, put together, by name; each byte comes from exactly one part."""
    index = json.loads((checkpoint / "model.safetensors.index.json").read_text())
    parts = collections.defaultdict(list)
    for file in sorted(checkpoint.glob("*.safetensors")):
        data = file.read_bytes()
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + length])
        offsets = json.loads(header.pop("__metadata__")["DCP_SHARDING_INFO"])
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            parts[name].append((offsets[name]["saved_offsets"], entry["shape"], entry["dtype"], data[8 + length + begin:8 + length + end]))
    found = {}
    for name, list_of_parts in parts.items():
        shape, width = index["tensors"][name]["shape"], FORMATS[list_of_parts[0][2]][1]
        whole, covered = bytearray(width * math.prod(shape)), 0
        for offset, extent, _, data in list_of_parts:
            row = width * (extent[-1] if extent else 1)
            for i, at in enumerate(itertools.product(*(range(n) for n in extent[:-1]))):
                first = 0
                for start, index_in_part, size in zip(offset, [*at, 0][:len(extent)], shape):
                    first = first * size + start + index_in_part
                whole[width * first:width * first + row] = data[i * row:(i + 1) * row]
                covered += row
        expect_equal(covered, len(whole), f"{checkpoint}: bytes of '{name}'")
        found[name] = bytes(whole)
    return found


Steps = collections.namedtuple("Steps", "loss states")


def train_with_states(plan, *options, steps, data="random:3"):
    """The losses, and after each step the bytes of each parameter and optimizer state by name."""
    log = SCRATCH / "states.jsonl"
    # In memory if that is possible: to wait for a disk takes longer than to train.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else SCRATCH) as folder:
        run("sluice-train", plan.path, "--data", data, "--steps", steps, "--log", log, "--checkpoint", folder, "--every", 1, "--quiet", *options)
        states = [read_checkpoint(Path(folder) / f"step-{step:08}") for step in range(1, steps + 1)]
    return Steps([line["loss"] for line in read_log(log)[0]], states)
