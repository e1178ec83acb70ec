"""Common code of the lint scripts: the files of a tree, and a main that checks a tree or tests itself.

A lint script has check(root), which yields "path:line: message", and two trees given as {path: text}: CLEAN must pass,
and each of PLANTED (pairs of a tree and a part of the message) must be reported.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = ("dialect", "passes", "runtime", "tools", "test", "docs", ".ci")
SOURCES = (".cpp", ".h", ".inc", ".td", ".def", ".fbs")


def files(root, folders=TOP, suffixes=None):
    """Tracked and new files below these folders of the repository, in order of name; without git, all files."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"],
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if listed.returncode == 0:
        names = listed.stdout.splitlines()
    else:
        names = [os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, inside in os.walk(root) for name in inside]
    for name in sorted(set(names)):
        top = name.split("/")[0] if "/" in name else ""
        path = Path(root) / name
        if (top in folders or (not top and "" in folders)) and path.is_file() and \
                (suffixes is None or name.endswith(suffixes)):
            yield name, path


def lines(path):
    return path.read_text(errors="replace").splitlines()


def violations(check, tree):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in tree.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return list(check(folder))


def self_test(check, clean, planted):
    found = violations(check, clean)
    assert not found, f"the clean tree is refused: {found}"
    for tree, message in planted:
        found = violations(check, {**clean, **tree})
        assert any(message in line for line in found), f"planted {tree}, expected '{message}' but got {found}"
    print(f"self-test: {len(planted)} planted violations found")


def main(check, clean, planted):
    if sys.argv[1:] == ["--self-test"]:
        self_test(check, clean, planted)
        return
    found = list(check(sys.argv[1] if len(sys.argv) > 1 else "."))
    for line in found:
        print(line)
    sys.exit(1 if any(": warning: " not in line for line in found) else 0)
