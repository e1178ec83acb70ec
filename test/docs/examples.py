"""examples.py SLUICE_OPT PAGE...: every mlir block of the pages parses and verifies.

A block may use values that it does not define. It is parsed once to find their types (a module is a graph region, where
a use may precede its definition), and then inserted in a function with these values as arguments. All blocks of a page
may use the parameters that the page declares.
"""

import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```mlir\n(.*?)^```", re.S | re.M)
PARAMETER = re.compile(r"^model\.parameter .*\n", re.M)
NAME = re.compile(r"%[A-Za-z_][\w.]*|%\d+")
TOP_LEVEL = ("model.parameter", "func.func", "module", "spmd.mesh", "#", "plan.program", "plan.entry")


def run(tool, text):
    done = subprocess.run([tool, "--allow-unregistered-dialect", "-"], input=text, text=True, capture_output=True)
    return done.returncode, done.stderr


def undefined(text):
    defined = set()
    for line in re.finditer(r"^\s*((?:%[\w.]+(?::\d+)?(?:\s*,\s*)?)+)\s*=", text, re.M):
        defined.update(NAME.findall(line[1]))
    defined.update(re.findall(r"(%[\w.]+)\s*:\s*[^,)]*(?=[,)])", "".join(re.findall(r"\^\w+\(.*?\):|@\w+\(.*?\)", text))))
    return sorted(set(NAME.findall(text)) - defined)


def check(tool, parameters, block):
    """None, or the errors of the block."""
    declared = "".join(line for line in parameters if line not in block)
    if block.lstrip().startswith(TOP_LEVEL):
        code, errors = run(tool, declared + block)
        return None if code == 0 else errors
    types = {name: "i1" for name in undefined(block)}
    for _ in range(len(types) + 1):
        guesses = "".join(f'{name} = "test.value"() : () -> {kind}\n' for name, kind in types.items())
        _, errors = run(tool, declared + block + guesses)
        wrong = re.search(r"definition of SSA value '(%[\w.]+)(?:#\d+)?' has type .*?previously used here with type '(.*?)'\n", errors, re.S)
        if not wrong:
            break
        types[wrong[1]] = wrong[2]
    arguments = ", ".join(f"{name}: {kind}" for name, kind in types.items())
    code, errors = run(tool, f"{declared}func.func @example({arguments}) {{\n{block}return\n}}\n")
    return None if code == 0 else errors


def main():
    tool, pages = sys.argv[1], sys.argv[2:]
    count = failed = 0
    for page in pages:
        text = Path(page).read_text()
        parameters = [line for block in BLOCK.findall(text) for line in PARAMETER.findall(block)]
        for match in BLOCK.finditer(text):
            count += 1
            errors = check(tool, parameters, match[1])
            if errors:
                failed += 1
                print(f"{page}:{text.count(chr(10), 0, match.start()) + 1}: invalid example\n{errors}")
    print(f"{count} examples, {failed} failed")
    sys.exit(1 if failed or not count else 0)


if __name__ == "__main__":
    main()
