"""Reads docs/behaviours.md (or another page); exits with 1 where a row has no answer, or names a test that does not exist or is
not run: a function that its script does not register, a script that no test runs, a GoogleTest that its program does not
list, a lit test that is left out somewhere.

usage: behaviours.py ROOT BUILD [PAGE]
"""

import functools
import os
import re
import subprocess
import sys

root, build = sys.argv[1:3]
page = sys.argv[3] if len(sys.argv) > 3 else os.path.join(root, "docs", "behaviours.md")
LEAST = 150
problems = []


def read(path):
    with open(os.path.join(root, "test", path)) as file:
        return file.read()


@functools.cache
def listed(script):
    done = subprocess.run([sys.executable, os.path.join(root, "test", script), "--list"], capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else []


@functools.cache
def runner(script):
    """Empty if a lit test runs the script in every configuration, else the expected lit test."""
    folder, name = os.path.split(script)
    for other in sorted(os.listdir(os.path.join(root, "test", folder))):
        if other.endswith(".test") and f"RUN: python3 %S/{name} %t" in read(os.path.join(folder, other)):
            return "" if always(os.path.join(folder, other)) else f"'{other}' to run always"
    return f"a .test in its folder that runs '{name}'"


def always(path):
    # All of them need the compiler; without it none would run.
    return not re.search(r"^.*(REQUIRES: (?!compiler$)|UNSUPPORTED:|XFAIL:)", read(path), re.M)


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
        return runner(path) or ("" if name in listed(path) else "a test that the script registers")
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
