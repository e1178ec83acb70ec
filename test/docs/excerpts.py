"""Code of the repository that a page quotes is what the file has.

A block of code whose first line is `// PATH` quotes that file. White space may differ. A line `...`, or a comment
`// ...`, stands for any lines.
"""

import re
from pathlib import Path

import lint

BLOCK = re.compile(r"^```\w+\n// ([\w./-]+\.(?:cpp|h|td|def|cu|fbs))\n(.*?)^```", re.S | re.M)
GAP = re.compile(r"^\s*(?:// )?\.\.\.\s*$", re.M)


def squeeze(text):
    return re.sub(r"\s+", " ", text).strip()


def check(root):
    for name, path in lint.files(root, ("docs",), (".md",)):
        text = path.read_text()
        for match in BLOCK.finditer(text):
            number = text.count("\n", 0, match.start()) + 1
            quoted = Path(root) / match[1]
            if not quoted.is_file():
                yield f"{name}:{number}: quotes {match[1]}, which does not exist"
                continue
            content, at = squeeze(quoted.read_text()), 0
            for part in GAP.split(match[2]):
                found = content.find(squeeze(part), at)
                if found < 0:
                    yield f"{name}:{number}: {match[1]} does not have the text '{squeeze(part)[:60]}'"
                    break
                at = found + len(squeeze(part))


QUOTE = "```cpp\n// passes/a.cpp\n"
CLEAN = {"passes/a.cpp": "int f() {\n  return 1;\n}\nint g();\nint h();\n",
         "docs/a.md": QUOTE + "int f() {\n    return 1;\n}\n...\nint h();\n```\n```cpp\nint other();\n```\n"}
PLANTED = [({"docs/b.md": QUOTE + "int f() { return 2; }\n```\n"}, "docs/b.md:1: passes/a.cpp does not have"),
           ({"docs/b.md": QUOTE + "int h();\n...\nint g();\n```\n"}, "does not have the text 'int g();'"),
           ({"docs/b.md": "\n```cpp\n// passes/b.cpp\n```\n"}, "docs/b.md:2: quotes passes/b.cpp, which does not exist")]

if __name__ == "__main__":
    lint.main(check, CLEAN, PLANTED)
