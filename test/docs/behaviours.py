"""Reads docs/behaviours.md (or another page); exits with 1 where a row has no answer, or names a test that does not exist or is
not run: a function that its script does not have, a script or a lit test that is left out somewhere, a GoogleTest that its
program does not list.

usage: behaviours.py ROOT BUILD [PAGE]
"""

import functools
import os
import re
import subprocess
import sys

from functions import Script

root, build = sys.argv[1:3]
page = sys.argv[3] if len(sys.argv) > 3 else os.path.join(root, "docs", "behaviours.md")
LEAST = 150
problems = []


def read(path):
    with open(os.path.join(root, "test", path)) as file:
        return file.read()


def always(path):
    # All of them need the compiler; without it none would run.
    return not re.search(r"^.*(REQUIRES: (?!compiler$)|UNSUPPORTED:|XFAIL:)", read(path), re.M)


@functools.cache
def functions_of(script):
    """Empty if the script is left out somewhere."""
    return Script(os.path.join(root, "test", script)).functions if always(script) else []


@functools.cache
def programs(path):
    """`Suite.Name` of the program that the file is compiled into, without what parameters add."""
    parts = path.split("/")
    name = f"unit-{parts[1]}" if parts[0] == "unit" else parts[0]
    try:
        text = subprocess.run([os.path.join(build, "bin", name), "--gtest_list_tests"], capture_output=True, text=True).stdout
    except OSError as error:
        problems.append(f"{page}: program of '{path}', expected one that runs but got {error}")
        return set()
    found, suite = set(), ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            suite = line.split("#")[0].strip().rstrip(".").split("/")[-1] if line.split("#")[0].strip().count("/") else line.split("#")[0].strip().rstrip(".")
        elif line.strip():
            found.add(f"{suite}.{line.split('#')[0].strip().split('/')[0]}")
    return found


def trouble(path, name):
    """What is expected instead of the named test; empty if it is a test that always runs."""
    if not os.path.isfile(os.path.join(root, "test", path)):
        return "a file below test/"
    if path.endswith(".py"):
        return "" if name in functions_of(path) else "a test of the script that always runs"
    if path.endswith(".cpp"):
        suite, _, test = (name or "").partition(".")
        declared = re.search(rf"(TYPED_)?TEST(_P|_F)?\({suite}, {test}\)", read(path))
        return "" if declared and name in programs(path) else "a test of the file that its program lists"
    return "" if name is None and always(path) else "a lit test that always runs"


rows = 0
for number, line in enumerate(open(page), 1):
    if not line.startswith("| `"):
        continue
    rows += 1
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    answer = cells[-1]
    if len(cells) == 3 and answer.startswith("open: ") and len(answer) > 8:
        continue
    for part in answer.split(", "):
        match = re.fullmatch(r"`(\S+)(?: (\S+))?`", part)
        wanted = trouble(match[1], match[2]) if match and len(cells) == 3 else "a test, or open:"
        if wanted:
            problems.append(f"{page}:{number}: {part}, expected {wanted}")
if rows < LEAST:
    problems.append(f"{page}: rows, expected at least {LEAST} but got {rows}")
print("\n".join(problems), file=sys.stderr)
sys.exit(1 if problems else 0)
