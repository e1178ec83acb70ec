"""Counts the lines of code of the product: without comments, blank lines and tests.

usage: count_lines.py [ROOT]

Counts C++, CUDA, tablegen, record and schema files in dialect/, passes/, runtime/ and tools/, and prints a row for each folder of the first two levels,
and the sum of each of the four. A line counts if something is left of it without comments.
"""

import collections
import re
import sys

import lint

SUFFIXES = (".cpp", ".h", ".inc", ".td", ".def", ".fbs", ".cu", ".cuh")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|R"(\w*)\(.*?\)\1"', re.S)


def code_lines(text):
    """Comments are replaced by their line breaks, texts stay."""
    text = TOKEN.sub(lambda match: match[0] if match[0][0] in '"R' else "\n" * match[0].count("\n"), text)
    return sum(1 for line in text.splitlines() if line.strip())


def count(root):
    counts = collections.Counter()
    for name, path in lint.files(root, ("dialect", "passes", "runtime", "tools"), SUFFIXES):
        counts["/".join(name.split("/")[:-1][:2])] += code_lines(path.read_text(errors="replace"))
    return counts


def main():
    counts = count(sys.argv[1] if len(sys.argv) > 1 else ".")
    for folder, lines in sorted(counts.items()):
        print(f"{folder:28} {lines:7}")
    for top in ("dialect", "passes", "runtime", "tools"):
        print(f"{top:28} {sum(lines for folder, lines in counts.items() if folder.split('/')[0] == top):7}")
    print(f"{'all':28} {sum(counts.values()):7}")


if __name__ == "__main__":
    main()
