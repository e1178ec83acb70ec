"""break_checkpoint.py FOLDER OUT FAULT: the sharded checkpoint of FOLDER in OUT, with one fault."""

import shutil
import struct
import sys
from pathlib import Path

from sluice import join_safetensors


def edit_header(file, change):
    """The changed header as text, of the same length, so that the data do not move."""
    data = file.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    text = change(data[8:8 + length].decode())
    assert len(text.rstrip()) <= length and text.encode() != data[8:8 + length], "nothing changed"
    file.write_bytes(data[:8] + text.rstrip().ljust(length).encode() + data[8 + length:])


def main():
    folder, out, fault = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    shutil.copytree(folder, out)
    index = out / "model.safetensors.index.json"
    first, last = out / "model-00001-of-00003.safetensors", out / "model-00003-of-00003.safetensors"
    text = index.read_text()

    def rewrite(old, new):
        assert old in text
        index.write_text(text.replace(old, new, 1))

    if fault == "missing-shard":
        last.unlink()
    elif fault == "outside":
        rewrite(f'"lm_head.weight": "{last.name}"', f'"lm_head.weight": "../{last.name}"')
    elif fault == "key-twice":
        rewrite('"lm_head.weight":', f'"lm_head.weight": "{last.name}", "lm_head.weight":')
    elif fault == "shard-twice":
        shutil.copy(last, out / "copy.safetensors")
        rewrite(f'"model.norm.weight": "{last.name}"', '"model.norm.weight": "copy.safetensors"')
    elif fault == "wrong-shard":
        rewrite(f'"lm_head.weight": "{last.name}"', f'"lm_head.weight": "{first.name}"')
    elif fault == "not-json":
        index.write_text(text[:-20])
    elif fault == "cut-off":
        last.write_bytes(last.read_bytes()[:-4])
    elif fault == "dtype":
        edit_header(last, lambda header: header.replace('"F32"', '"I32"', 1))
    elif fault == "shape":
        edit_header(last, lambda header: header.replace("[131,36]", "[36,131]", 1))
    elif fault == "name":
        edit_header(last, lambda header: header.replace("model.norm.weight", "model.morn.weight"))
        rewrite("model.norm.weight", "model.morn.weight")
    elif fault == "extra":
        header = {"model.more.weight": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
        (out / "more.safetensors").write_bytes(join_safetensors(header, bytes(4)))
        rewrite('"weight_map": {', '"weight_map": {"model.more.weight": "more.safetensors",')
    else:
        sys.exit(f"unknown fault '{fault}'")


if __name__ == "__main__":
    main()
