"""Rows of tokens with ignored targets, and what runs report about them.

masked_rows.py write      counted.safetensors: of 4 rows of 8 tokens, the first two have one counted target together, the last two have all;
                          more.safetensors: the same 4 rows and one more; ignored.safetensors: 4 rows without a counted target
masked_rows.py loss LOG   the evaluation's loss is the training loss of the same rows
"""

import struct
import sys
from pathlib import Path

from sluice import join_safetensors, read_log

LENGTH = 8


def rows(name, count, counts):
    tokens = [(row * 5 + at * 3) % 16 for row in range(count) for at in range(LENGTH)]
    targets = [(row * 7 + at) % 16 if counts(row, at) else -100 for row in range(count) for at in range(LENGTH)]
    data = [struct.pack(f"<{len(values)}i", *values) for values in (tokens, targets)]
    size = len(data[0])
    header = {key: {"dtype": "I32", "shape": [count, LENGTH], "data_offsets": [i * size, (i + 1) * size]} for i, key in enumerate(("tokens", "targets"))}
    Path(name).write_bytes(join_safetensors(header, b"".join(data)))


def main():
    if sys.argv[1] == "loss":
        last = read_log(sys.argv[2])[0][-1]
        assert abs(last["eval_loss"] - last["loss"]) <= 1e-6 * last["loss"], last
        print("one loss")
        return
    rows("counted.safetensors", 4, lambda row, at: row > 1 or (row, at) == (0, 7))
    rows("more.safetensors", 5, lambda row, at: row > 1 or (row, at) == (0, 7))
    rows("ignored.safetensors", 4, lambda row, at: False)


if __name__ == "__main__":
    main()
