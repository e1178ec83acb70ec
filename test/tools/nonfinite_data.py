"""nonfinite_data.py VALUE OUT: 64 rows of 16 numbers for the input 'x'; element 3 of row 14 is VALUE."""

import json
import struct
import sys

rows = [[(7 * row + column) % 13 / 13 - 0.5 for column in range(16)] for row in range(64)]
rows[14][3] = float(sys.argv[1])
data = b"".join(struct.pack("<16f", *row) for row in rows)
header = json.dumps({"x": {"dtype": "F32", "shape": [64, 16], "data_offsets": [0, len(data)]}}).encode()
with open(sys.argv[2], "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header + data)
