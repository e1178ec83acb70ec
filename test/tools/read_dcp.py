"""read_dcp.py CHECKPOINT WEIGHTS [--torch]: the checkpoint, read as PyTorch's distributed checkpoint, has these weights.

With --torch PyTorch's HuggingFaceStorageReader reads it; otherwise this script does, by the metadata that that reader uses: every
.safetensors file of the folder, with `saved_offsets` of each tensor in DCP_SHARDING_INFO. Both compare bits.
"""

import json
import sys
from pathlib import Path

from sluice import split_safetensors, tensors


def product(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


def assemble(folder):
    """Name to flat list of numbers, from the parts in all files."""
    parts = {}
    for path in sorted(folder.glob("*.safetensors")):
        header, _ = split_safetensors(path.read_bytes())
        info = json.loads(header["__metadata__"]["DCP_SHARDING_INFO"])
        for name, values in tensors(path.read_bytes()).items():
            parts.setdefault(name, []).append((info[name]["saved_offsets"], header[name]["shape"], values))
    found = {}
    for name, each in parts.items():
        shape = [max(offset[d] + extents[d] for offset, extents, _ in each) for d in range(len(each[0][1]))]
        full, filled = [None] * product(shape), 0
        for offset, extents, values in each:
            for place, value in enumerate(values):
                at, rest = 0, place
                for d in reversed(range(len(shape))):
                    at += (offset[d] + rest % extents[d]) * product(shape[d + 1:])
                    rest //= extents[d]
                assert full[at] is None, f"{name}: element {at} is in two files"
                full[at], filled = value, filled + 1
        assert filled == len(full), f"{name}: {len(full) - filled} elements are in no file"
        found[name] = tuple(full)
    return found


def read_by_torch(folder):
    import torch
    from torch.distributed.checkpoint import HuggingFaceStorageReader, load
    reader = HuggingFaceStorageReader(str(folder))
    state = {name: torch.empty(data.size, dtype=data.properties.dtype) for name, data in reader.read_metadata().state_dict_metadata.items()}
    load(state, storage_reader=HuggingFaceStorageReader(str(folder)))
    return {name: tuple(value.reshape(-1).tolist()) for name, value in state.items()}


def main():
    folder, weights = Path(sys.argv[1]), tensors(Path(sys.argv[2]).read_bytes())
    found = read_by_torch(folder) if "--torch" in sys.argv else assemble(folder)
    problems = [name for name, values in weights.items() if found.get(name) != values]
    states = [name for name in found if name.startswith("optimizer.state.")]
    if problems or not states:
        sys.exit(f"read_dcp: {len(problems)} weights differ, the first is {problems[:1]}; {len(states)} states")
    print(f"{len(weights)} weights and {len(states)} states")


main()
