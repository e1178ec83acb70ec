"""demo_words.py DEMO FOLDER: counts the words of three texts that the demo's model generates, and fails if too many are not in the training text.

DEMO is tools/demo.sh, whose array `sample` has the options, FOLDER has its plan and weights. `demo_words.py --text FILE` counts the words of a file.
A word is a run of letters. The last one may be cut off, and does not count.
"""

import glob
import re
import shlex
import subprocess
import sys

SEEDS = (1, 2, 3)
LEAST = 0.92


def words(text):
    return re.findall(r"[a-z]+", text.lower())


known = set()
for path in glob.glob("/usr/share/common-licenses/*"):
    with open(path, encoding="utf-8", errors="replace") as file:
        known.update(words(file.read()))
assert len(known) > 2000, len(known)

if sys.argv[1] == "--text":
    texts = [open(sys.argv[2]).read()]
else:
    demo, folder = sys.argv[1:]
    sample = shlex.split(re.search(r"^sample=\((.*)\)$", open(demo).read(), re.M)[1])
    texts = [subprocess.run(["sluice-train", f"{folder}/gpt2.plan", "--init", f"{folder}/weights", "--seed", str(seed), *sample],
                            check=True, capture_output=True, text=True, errors="replace").stdout for seed in SEEDS]
    assert len(set(texts)) == len(SEEDS)
generated = [word for text in texts for word in words(text)[:-1]]
others = [word for word in generated if word not in known]
print(f"{len(generated) - len(others)} of {len(generated)} words of {len(texts)} samples are words of the training text; others: {' '.join(others)}")
sys.exit(len(others) > (1 - LEAST) * len(generated) or not generated)
