"""packing.py [--rounds N] [--seconds S]: counted tokens per second of packed rows, of padded rows, and of full rows without documents, on this CPU.

Documents have log-normal lengths (mean 300, standard deviation of the logarithm 1, seed 7) of random tokens; rows have 2,048. The model is a GPT-2 of 2 layers, 256
wide, with a vocabulary of 2,048. Padded: one document in each row, cut off at the row. Full: rows of one document of 2,048 tokens. In each of N rounds (default 4) each
plan runs for about S seconds (default 10), in another order in odd rounds. Prints the fill of packed rows, and for each kind the largest of the rounds' rates
and its ratio to the packed one; the goals are a fill of 0.95, 5 times the padded rate, and 0.9 times the full one. Programs are taken from build/bin.
"""

import argparse
import json
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

LENGTH, VOCABULARY, MEAN, DELIMITER = 2048, 2048, 300, 0
ROOT = Path(__file__).resolve().parents[2]
CONFIG = {"model_type": "gpt2", "vocab_size": VOCABULARY, "n_positions": LENGTH, "n_embd": 256, "n_layer": 2, "n_head": 4, "activation_function": "gelu_new",
          "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)


def documents(draw, count):
    lengths = [max(2, round(draw.lognormvariate(5.7037825 - 0.5, 1))) for _ in range(count)]
    assert abs(statistics.mean(lengths) / MEAN - 1) < 0.15
    return [[DELIMITER] + [draw.randrange(1, VOCABULARY) for _ in range(length - 1)] for length in lengths]


def write_tokens(path, tokens):
    path.write_bytes(struct.pack(f"<256i{len(tokens)}H", 20240520, 1, len(tokens), *[0] * 253, *tokens))


def write_rows(path, rows):
    """Each document in a row, with the targets that it has."""
    header, data = {}, b""
    for name in ("tokens", "targets"):
        values = []
        for row in rows:
            row = row[:LENGTH]
            values += (row if name == "tokens" else row[1:] + [-100]) + [0 if name == "tokens" else -100] * (LENGTH - len(row))
        part = struct.pack(f"<{len(values)}i", *values)
        header[name] = {"dtype": "I32", "shape": [len(rows), LENGTH], "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=10)
    given = parser.parse_args()
    os.environ["PATH"] = f"{ROOT / 'build' / 'bin'}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        all_documents = documents(random.Random(7), 2000)
        (folder / "config.json").write_text(json.dumps(CONFIG))
        write_tokens(folder / "documents.bin", [token for document in all_documents for token in document])
        write_rows(folder / "padded.safetensors", all_documents[:200])
        for kind, options in (("packed", ["--packed"]), ("padded", []), ("full", [])):
            run("sluice-import", "hf", folder / "config.json", "--batch", 1, "--sequence", LENGTH, *options, "-o", folder / f"{kind}.mlir")
            run("sluice-compile", folder / f"{kind}.mlir", "--set", "loss.mean=tokens", "-o", folder / f"{kind}.plan")
        data = {"packed": ["--data", folder / "documents.bin", "--pack", "--document-begin", DELIMITER], "padded": ["--data", folder / "padded.safetensors"],
                "full": ["--data", folder / "documents.bin"]}

        def steps(kind, count):
            log = folder / f"{kind}.jsonl"
            run("sluice-train", folder / f"{kind}.plan", *data[kind], "--steps", count, "--quiet", "--log", log)
            return [json.loads(line) for line in log.read_text().splitlines()[:-1]]

        counted = {"packed": lambda line: line["fill"] * LENGTH - line["documents"], "padded": None, "full": lambda line: LENGTH}
        # A row of each document in turn.
        padded = [min(len(document), LENGTH + 1) - 1 for document in all_documents]
        counts = {kind: max(4, round(given.seconds / (statistics.median(line["step_ms"] for line in steps(kind, 4)[1:]) / 1000))) for kind in data}
        rates, fills = {kind: [] for kind in data}, []
        for number in range(given.rounds):
            for kind in list(data) if number % 2 == 0 else reversed(data):
                lines = steps(kind, counts[kind])[1:]
                tokens = [padded[(line["step"] - 1) % 200] if kind == "padded" else counted[kind](line) for line in lines]
                rates[kind].append(sum(tokens) / sum(line["step_ms"] for line in lines) * 1000)
                if kind == "packed":
                    fills += [line["fill"] for line in lines]
        best = {kind: max(values) for kind, values in rates.items()}
        print(f"fill of packed rows: {statistics.mean(fills):.3f}")
        for kind in data:
            print(f"{kind}: {best[kind]:,.0f} counted tokens/s; packed has {best['packed'] / best[kind]:.2f} times as many ({', '.join(f'{value:,.0f}' for value in rates[kind])})")


if __name__ == "__main__":
    sys.exit(main())
