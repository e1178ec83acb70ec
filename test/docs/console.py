"""console.py PAGE [NAME=FILE]... [skip=TOOL]: runs the commands of a page's console blocks, in order, in the current folder.

A command is a line of a ```console block that starts with `$`. The lines below it are in its output, in this order; a
line `...` stands for any lines, and ` ...` at the end of a line for the rest of the line. A command whose lines contain
`error:` fails; all others succeed. The numbers of a training step or an evaluation may differ by half a percent, and times and the memory
of the process by any amount: they depend on the machine, as does the note on a wait for a checkpoint, which is left out. A block ```LANGUAGE FILE is first written to that file.

NAME=FILE replaces a word of a command; skip=TOOL leaves out the commands of a tool. Plans are compiled for AVX2, so that
workspace is the same on every machine. A command with `|`, `<` or `>` is run by bash as it is.
"""

import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```console\n(.*?)^```", re.S | re.M)
FILE = re.compile(r"^```\w+ (\S+)\n(.*?)^```", re.S | re.M)
MACHINE = re.compile(r'(tok/s |  time |  eta |  memory |"step_ms": |"tokens_per_s": |"measured_process": |process:  )[-+.:\de]+( \([\d.]+ MiB\))?')
WAIT = re.compile(r"note: waiting until the checkpoint of step \d+ is written$")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
PROCESSES = Path(__file__).resolve().parents[1] / "tools" / "processes.py"


def commands(text):
    """Pairs of a command and the lines that the page shows below it."""
    shown = []
    for block in BLOCK.findall(text):
        for line in block.splitlines():
            if line.startswith("$ "):
                shown.append((line[2:], []))
            elif shown:
                shown[-1][1].append(line)
    return shown


def words_of(command, names):
    if re.search("[|<>]", command):
        return ["bash", "-o", "pipefail", "-c", command]
    words = [names.get(word, word) for word in shlex.split(command)]
    if words[0] == "sluice-compile":
        words += ["--set", "target.isa=avx2"]
    if words[:2] == ["mpirun", "-n"]:
        words = [sys.executable, str(PROCESSES), "mpirun", *words[2:]]
    return words


def is_same(shown, printed):
    shown, printed = (MACHINE.sub(r"\1", line.rstrip()) for line in (shown, printed))
    if shown.endswith(" ..."):
        return printed.startswith(shown[:-4])
    if not re.match(r'(?:step|eval_loss) |\{"step"', shown):
        return shown == printed
    pairs = list(zip(NUMBER.findall(shown), NUMBER.findall(printed)))
    return NUMBER.sub("", shown) == NUMBER.sub("", printed) and all(
        math.isclose(float(a), float(b), rel_tol=5e-3) for a, b in pairs)


def missing_line(expected, printed):
    """The first line of the page that the output does not have at this position, or None."""
    at, skips = 0, False
    for line in expected:
        if line == "...":
            skips = True
            continue
        places = range(at, len(printed)) if skips else range(at, min(at + 1, len(printed)))
        at = next((place + 1 for place in places if is_same(line, printed[place])), 0)
        if not at:
            return line
        skips = False
    return None


def run(page, names=None, skipped=None):
    """Runs the page's commands; the number of commands, or exit with the first difference."""
    text, ran = Path(page).read_text(), 0
    for name, content in FILE.findall(text):
        Path(name).write_text(content)
    for command, expected in commands(text):
        words = words_of(command, names or {})
        if words[0] == skipped:
            continue
        done = subprocess.run(words, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=dict(os.environ, TERM="dumb"))
        fails = any("error:" in line for line in expected)
        if (done.returncode != 0) != fails:
            sys.exit(f"{page}: '{command}' ended with exit code {done.returncode}\n{done.stdout}")
        line = missing_line(expected, [line for line in done.stdout.splitlines() if not WAIT.match(line)])
        if line is not None:
            sys.exit(f"{page}: the output of '{command}' has no line '{line}' at its place:\n{done.stdout}")
        ran += 1
    return ran


def main():
    page, *rest = sys.argv[1:]
    names = dict(word.split("=", 1) for word in rest)
    skipped = names.pop("skip", None)
    print(f"{run(page, names, skipped)} commands of {Path(page).name}")


if __name__ == "__main__":
    main()
