"""Reads docs/behaviours.md (or another page); exits with 1 where a row has no answer, where any column or paragraph names a test that does
not exist or is not run (a function that its script does not have, a script or a lit test that is left out somewhere, a GoogleTest that its
program does not list), where a script that is named accepts loops over empty lists, or where a section has another number of rows.

usage: behaviours.py ROOT BUILD [PAGE]
"""

import collections
import functools
import glob
import os
import re
import subprocess
import sys

from functions import Script

root, build = sys.argv[1:3]
page = sys.argv[3] if len(sys.argv) > 3 else os.path.join(root, "docs", "behaviours.md")
# Rows of each section.
ROWS = {"1 Peak memory by tracking": 14, "2 Live memory over a step": 15, "3 Training": 58, "4 Communication": 52, "5 Gradient accumulation of FSDP1": 8,
        "7 Others": 27}
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
def listed(folder):
    """`Suite.Name` of the tests in the programs of a folder below test/, without what parameters add."""
    names = [folder.replace("unit/", "unit-"), *glob.glob(f"unit-{folder}*", root_dir=os.path.join(build, "bin"))]
    found, suite = set(), ""
    for name in names:
        path = os.path.join(build, "bin", name)
        text = subprocess.run([path, "--gtest_list_tests"], capture_output=True, text=True).stdout if os.path.exists(path) else ""
        for line in text.splitlines():
            word = line.split("#")[0].strip()
            if line and not line.startswith(" "):
                suite = word.rstrip(".").split("/")[-1]
            elif word:
                found.add(f"{suite}.{word.split('/')[0]}")
    return found


def is_listed(path, name):
    suite, _, test = name.partition(".")
    declared = re.search(rf"(TYPED_)?TEST(_P|_F)?\({suite}, {test}\)", read(path))
    return declared and name in listed("/".join(path.split("/")[:2 if path.startswith("unit/") else 1]))


def trouble(path, name):
    """What is expected instead of the named test; empty if it is a test that always runs."""
    if not os.path.isfile(os.path.join(root, "test", path)):
        return "a file below test/"
    if path.endswith(".py"):
        if not read(path).endswith("main(no_empty_loops=True)\n"):
            return "a script that refuses loops over empty lists"
        return "" if (name in functions_of(path) if name else functions_of(path)) else "a test of the script that always runs"
    if path.endswith(".cpp"):
        return "" if name is None or is_listed(path, name) else "a test of the file that its program lists"
    return "" if name is None and always(path) else "a lit test that always runs"


SPAN = re.compile(r"`([^`]+)`")
# A file below test/, and the name of a test in it.
REFERENCE = re.compile(r"(?:test/)?([\w-]+(?:/[\w-]+)*/[\w-]+\.(?:py|cpp|test|mlir))(?: (\S+))?")


@functools.cache
def names_of_scripts():
    """The names of all test functions: such a name alone does not state the file."""
    scripts = glob.glob("*/*.py", root_dir=os.path.join(root, "test"))
    return {name for script in scripts for name in functions_of(script)} - {"main"}


def check_spans(place, text):
    """Each code span that names a test names one that runs."""
    for span in SPAN.findall(text):
        match = REFERENCE.fullmatch(span)
        if match:
            wanted = trouble(match[1], match[2])
            if wanted:
                problems.append(f"{place}: `{span}`, expected {wanted}")
        elif span in names_of_scripts():
            problems.append(f"{place}: `{span}`, expected the file before the name of a test")


section, found = "", collections.Counter()
for number, line in enumerate(open(page), 1):
    place = f"{page}:{number}"
    if line.startswith("## "):
        section = line[3:].strip()
    if not line.startswith("| `"):
        check_spans(place, line)
        continue
    found[section] += 1
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    if len(cells) != 3:
        problems.append(f"{place}: expected 3 columns but got {len(cells)}")
        continue
    check_spans(place, cells[1])
    answer = cells[2]
    if re.match(r"(open|differs): \S", answer):
        check_spans(place, answer)
        continue
    for part in answer.split(", "):
        match = REFERENCE.fullmatch(part.strip("`"))
        if not match or not match[2] and match[1].endswith((".py", ".cpp")):
            problems.append(f"{place}: {part}, expected a test, 'open: ' or 'differs: '")
    check_spans(place, answer)
if found != ROWS:
    problems.append(f"{page}: rows of the sections, expected {ROWS} but got {dict(found)}")
print("\n".join(problems), file=sys.stderr)
sys.exit(1 if problems else 0)
