"""readme.py README CONFIG RECIPE: runs the commands of the README's first console block that need no minutes.

Each line that the block shows below a command must stand in that command's output, in this order; a line `...` stands for
any lines. CONFIG and RECIPE take the place of the names that the demo gives its files. The figures are of a CPU with AVX2:
the workspace depends on the instruction set, so plans are compiled for that one.
"""

import pathlib
import shlex
import subprocess
import sys


def block_of(text):
    lines = text.split("\n```\n$ ", 1)[1].split("\n```\n", 1)[0]
    return ("$ " + lines).splitlines()


def main():
    readme, config, recipe = sys.argv[1:]
    names = {"config.json": config, "recipe.toml": recipe}
    shown = []
    for line in block_of(pathlib.Path(readme).read_text()):
        if line.startswith("$ "):
            shown.append((line[2:], []))
        else:
            shown[-1][1].append(line)
    ran = 0
    for command, expected in shown:
        words = [names.get(word, word) for word in shlex.split(command)]
        if words[0] == "sluice-train":
            continue
        if words[0] == "sluice-compile":
            words += ["--set", "target.isa=avx2"]
        done = subprocess.run(words, text=True, stdout=subprocess.PIPE)
        if done.returncode != 0:
            sys.exit(f"{command}: exit {done.returncode}")
        printed, at, skips = done.stdout.splitlines(), 0, False
        for line in expected:
            if line == "...":
                skips = True
                continue
            places = range(at, len(printed)) if skips else range(at, min(at + 1, len(printed)))
            found = next((place for place in places if printed[place] == line), None)
            if found is None:
                sys.exit(f"{readme}: the output of '{command}' has no line '{line}' at its place")
            at, skips = found + 1, False
        ran += 1
    if ran < 3:
        sys.exit(f"{readme}: expected at least 3 commands but got {ran}")


if __name__ == "__main__":
    main()
