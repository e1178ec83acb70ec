"""Each constraint label of a dialect (`rope_c2`) in its spec is above a wrong program in test/dialect, and each label in the dialect's code is in its spec."""

import re
from pathlib import Path

import lint

LABEL = re.compile(r"\b[a-z][a-z0-9_]*_c[0-9]+\b")


def check(root):
    root = Path(root)
    for dialect in ("model", "spmd", "plan"):
        spec = f"docs/spec/{dialect}.md"
        labels = set(LABEL.findall((root / spec).read_text())) if (root / spec).exists() else set()
        if not labels:
            yield f"{spec}:1: expected labels of constraints"
        tested = set()
        for name, path in lint.files(root, ("test",), (".mlir",)):
            if name.startswith(f"test/dialect/{dialect}/"):
                tested |= {label for line in lint.lines(path) if line.startswith("// ") for label in LABEL.findall(line)}
        for label in sorted(labels - tested):
            yield f"{spec}:1: {label} has no wrong program in test/dialect/{dialect}"
        for name, path in lint.files(root, ("dialect",), (".td", ".h", ".cpp")):
            if not name.startswith(f"dialect/{dialect}/"):
                continue
            for label in sorted(set(LABEL.findall(path.read_text())) - labels):
                yield f"{name}:1: {label} is not in {spec}"


CLEAN = {f"docs/spec/{dialect}.md": "(a_c1) one.\n" for dialect in ("model", "spmd", "plan")} | \
        {f"test/dialect/{dialect}/errors.mlir": "// a_c1: none\n" for dialect in ("model", "spmd", "plan")} | \
        {"dialect/plan/A.cpp": "// a_c1\n"}
PLANTED = [({"docs/spec/spmd.md": "(a_c1) one. (a_c2) two.\n"}, "a_c2 has no wrong program in test/dialect/spmd"),
           ({"dialect/plan/A.cpp": "// a_c3\n"}, "a_c3 is not in docs/spec/plan.md"),
           ({"docs/spec/plan.md": "none\n"}, "expected labels of constraints")]

if __name__ == "__main__":
    lint.main(check, CLEAN, PLANTED)
