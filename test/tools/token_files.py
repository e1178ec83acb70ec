"""token_files.py TOKENS.bin COUNT LENGTH: the first COUNT tokens of a 16-bit token file in every form that `--data` takes.

Writes narrow.bin, wide.bin (32-bit tokens), part-1.bin and part-2.bin (the same tokens, one of 16 and one of 32 bits a token),
text.txt (a byte a token), u16.bin and u32.bin (without a header), ids.npy (an array of int64), and rows.safetensors,
rows-1.safetensors, rows-2.safetensors (sequences of LENGTH and their targets).
"""

import struct
import sys
from pathlib import Path

from sluice import join_safetensors


def token_file(name, tokens, wide):
    magic, version, code = (20240801, 7, "I") if wide else (20240520, 1, "H")
    with open(name, "wb") as file:
        file.write(struct.pack("<256i", magic, version, len(tokens), *[0] * 253))
        file.write(struct.pack(f"<{len(tokens)}{code}", *tokens))


def array(name, tokens):
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({len(tokens)},), }}".ljust(117) + "\n"
    Path(name).write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() +
                           struct.pack(f"<{len(tokens)}q", *tokens))


def safetensors(name, tensors):
    header, data = {}, b""
    for key, (dtype, code, rows) in sorted(tensors.items()):
        values = [value for row in rows for value in row]
        packed = struct.pack(f"<{len(values)}{code}", *values)
        header[key] = {"dtype": dtype, "shape": [len(rows), len(rows[0])], "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    Path(name).write_bytes(join_safetensors(header, data))


def main():
    source, count, length = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with open(source, "rb") as file:
        file.seek(1024)
        tokens = struct.unpack(f"<{count}H", file.read(2 * count))
    token_file("narrow.bin", tokens, False)
    token_file("wide.bin", tokens, True)
    # The cut is within a sequence.
    cut = count // 2 + 1
    token_file("part-1.bin", tokens[:cut], False)
    token_file("part-2.bin", tokens[cut:], True)
    with open("text.txt", "wb") as file:
        file.write(bytes(tokens))
    Path("u16.bin").write_bytes(struct.pack(f"<{count}H", *tokens))
    Path("u32.bin").write_bytes(struct.pack(f"<{count}I", *tokens))
    array("ids.npy", tokens)
    starts = range(0, (count - 1) // length * length, length)
    rows, targets = [[tokens[i + shift:i + shift + length] for i in starts] for shift in (0, 1)]
    for name, part in (("rows", slice(None)), ("rows-1", slice(5)), ("rows-2", slice(5, None))):
        # Integers of any width.
        safetensors(name + ".safetensors", {"tokens": ("I64", "q", rows[part]), "targets": ("I32", "i", targets[part])})


if __name__ == "__main__":
    main()
