"""Words that have no place in the tree: marks of unfinished work, and paths of one machine."""

import re

import lint

# Written in parts, so that this file does not contain the words.
MARKS = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK")) + r")\b")
PATHS = re.compile(r"(?<![\w./-])(/" + "work|/" + "root)(?=[/\\s\"'`)]|$)")


def check(root):
    for name, path in lint.files(root, lint.TOP + ("",)):
        if name.startswith("test/reference/") or path.suffix in (".bin", ".safetensors", ".plan", ".png"):
            continue
        for number, line in enumerate(lint.lines(path), 1):
            for pattern, what in ((MARKS, "a mark of unfinished work"), (PATHS, "a path of one machine")):
                match = pattern.search(line)
                if match:
                    yield f"{name}:{number}: '{match[1]}' is {what}"


CLEAN = {"runtime/a.cpp": "// framework/wor" + "k/a, network, rootless, s_todo, /workspace\n"}
PLANTED = [({"runtime/b.cpp": "\n// TO" + "DO: more\n"}, "runtime/b.cpp:2: 'TO" + "DO'"),
           ({"docs/a.md": "see /" + "work/main\n"}, "a path of one machine"),
           ({"README.md": "HA" + "CK\n"}, "README.md:1"),
           ({"tools/a.sh": "cd \"/" + "root\"\n"}, "a path of one machine")]

if __name__ == "__main__":
    lint.main(check, CLEAN, PLANTED)
