"""Relative links of the Markdown pages lead to files of the repository, their anchors to headings, and paths in code exist."""

import re
from pathlib import Path

import lint

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
# Tests are also named by their path below test/.
PATH = re.compile(r"`((?:dialect|passes|runtime|tools|test|docs)/[\w./-]*\w)/?`")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.S | re.M)


def anchors(text):
    """GitHub's anchors of the headings of a page."""
    headings = re.findall(r"^#+ +(.*?)\s*$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check(root):
    for name, path in lint.files(root, ("docs", "test", ""), (".md",)):
        if name.startswith("docs/generated/"):
            continue
        text = path.read_text()
        for match in PATH.finditer(text):
            if not any((Path(root) / top / match[1]).exists() for top in ("", "test")):
                yield f"{name}:{text.count(chr(10), 0, match.start()) + 1}: path {match[1]}, which does not exist"
        # Blank out code, keeping line numbers.
        text = CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
        for match in LINK.finditer(text):
            target, _, anchor = match[1].partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            number = text.count("\n", 0, match.start()) + 1
            page = (path.parent / target) if target else path
            if not page.exists():
                yield f"{name}:{number}: link to {target}, which does not exist"
            elif anchor and page.suffix == ".md" and anchor not in anchors(page.read_text()):
                yield f"{name}:{number}: link to {match[1]}, which has no such heading"


CLEAN = {"README.md": "# A b\n[x](docs/a.md#some-words-here) `[x](none)` [y](https://a.b) [z](#a-b)\n",
         "docs/a.md": "## Some words, here\n[up](../README.md) `docs/a.md` `passes/x.mlir` `passes/<stage>/Passes.td`\n",
         "test/passes/x.mlir": "\n"}
PLANTED = [({"docs/b.md": "\n[x](none.md)\n"}, "docs/b.md:2: link to none.md, which does not exist"),
           ({"docs/b.md": "[x](a.md#other)\n"}, "link to a.md#other, which has no such heading"),
           ({"docs/b.md": "\n\n`passes/Gone.cpp`\n"}, "docs/b.md:3: path passes/Gone.cpp, which does not exist")]

if __name__ == "__main__":
    lint.main(check, CLEAN, PLANTED)
