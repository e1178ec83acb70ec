"""text_files.py REFERENCE NAME FOLDER: for a tokenizer of the reference numbers, text and the same text as tokens.

Writes into FOLDER config.json (a small GPT-2 with that vocabulary), text.txt (the longest text of the corpus), tokens.bin
(its ids as a document) and text-1.txt to text-2.txt, tokens-12.bin (two documents).
"""

import json
import struct
import sys
from pathlib import Path


def write_tokens(path, ids):
    path.write_bytes(struct.pack("<256i", 20240520, 1, len(ids), *[0] * 253) + struct.pack(f"<{len(ids)}H", *ids))


def main():
    reference, name, folder = Path(sys.argv[1]) / "tokenizers", sys.argv[2], Path(sys.argv[3])
    texts = json.loads((reference / "corpus.json").read_text())
    expected = json.loads((reference / name / "expected.json").read_text())
    tokenizer = json.loads((reference / name / "tokenizer.json").read_text())
    eos_token = json.loads((reference / name / "tokenizer_config.json").read_text())["eos_token"]
    [eos] = [token["id"] for token in tokenizer["added_tokens"] if token["content"] == eos_token]
    long, other = sorted(range(len(texts)), key=lambda i: len(texts[i]))[:-3:-1]
    documents = [expected[i]["special"] + [eos] for i in (long, other)]
    (folder / "text.txt").write_bytes(texts[long].encode())
    (folder / "text-1.txt").write_bytes(texts[long].encode())
    (folder / "text-2.txt").write_bytes(texts[other].encode())
    write_tokens(folder / "tokens.bin", documents[0])
    write_tokens(folder / "tokens-12.bin", documents[0] + documents[1])
    vocabulary = 1 + max(max(tokenizer["model"]["vocab"].values()), max(token["id"] for token in tokenizer["added_tokens"]))
    config = {"model_type": "gpt2", "n_positions": 64, "n_embd": 16, "n_layer": 1, "n_head": 2, "activation_function": "gelu_new",
              "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}
    for file, size in (("config.json", vocabulary), ("small.json", vocabulary - 1)):
        (folder / file).write_text(json.dumps({**config, "vocab_size": size}))


if __name__ == "__main__":
    main()
