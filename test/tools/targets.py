"""targets.py ROWS ROW FILE: rows of 8 tokens in a safetensors file, of which one row has no targets."""

import json
import struct
import sys

rows, empty = int(sys.argv[1]), int(sys.argv[2])
tokens = [1] * (rows * 8)
targets = [-100 if i // 8 == empty else 2 for i in range(rows * 8)]
size = len(tokens) * 4
header = json.dumps({name: {"dtype": "I32", "shape": [rows, 8], "data_offsets": [i * size, (i + 1) * size]}
                     for i, name in enumerate(("tokens", "targets"))}).encode()
with open(sys.argv[3], "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header + struct.pack(f"<{2 * len(tokens)}i", *tokens, *targets))
