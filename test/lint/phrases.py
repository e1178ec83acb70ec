"""Phrases that docs/glossary.md rejects ("Phrases that are not used") are in no document, comment or diagnostic."""

import re
from pathlib import Path

import lint

GLOSSARY = "docs/glossary.md"


def phrases(root):
    """The list items of the page's last section."""
    text = (Path(root) / GLOSSARY).read_text()
    return re.findall(r"^- `(.+)`$", text[text.index("## Phrases that are not used"):], re.M)


def check(root):
    rejected = re.compile(r"\b(?:" + "|".join(re.escape(phrase) for phrase in phrases(root)) + r")\b", re.I)
    for name, path in lint.files(root, lint.TOP + ("",)):
        if (name == GLOSSARY or name.startswith(("test/reference/", "test/lint/phrases")) or
                path.suffix in (".bin", ".safetensors", ".plan")):
            continue
        for number, line in enumerate(lint.lines(path), 1):
            match = rejected.search(line)
            if match:
                yield f"{name}:{number}: '{match[0]}' is a phrase that {GLOSSARY} rejects"


PAGE = {GLOSSARY: "## Phrases that are not used\n\nText.\n\n- `but got none`\n- `anew`\n"}
CLEAN = {**PAGE, "runtime/a.cpp": "// renewed; expected 2 but got 3\n"}
PLANTED = [({"runtime/b.cpp": '\nreturn inputError("expected a but got none");\n'}, "runtime/b.cpp:2"),
           ({"docs/a.md": "Anew it is computed.\n"}, "docs/a.md:1")]

if __name__ == "__main__":
    lint.main(check, CLEAN, PLANTED)
