"""Attributes and ops of a dialect are named through its C++ declarations: no file outside it has their names as strings.

An attribute is named by its constant (dialect/model/Attributes.h, dialect/spmd/Names.h) and an op by getOperationName(),
so that a name exists once, in the dialect's tablegen file. Names inside a longer text, as in a diagnostic, are not meant.
"""

import re
from pathlib import Path

import lint

DIALECTS = ("model", "spmd", "plan")
LITERAL = re.compile(r'"(' + "|".join(DIALECTS) + r')\.(\w+)"')
OP = re.compile(r'^def\s+\w+Op\s*:\s*\w+<\s*"(\w+)"', re.MULTILINE)
DISCARDABLE = re.compile(r"let discardableAttrs = \(ins(.*?)\n  \);", re.DOTALL)


def declared(root, dialect):
    """The names of a dialect's ops and discardable attributes."""
    names = set()
    for path in Path(root, "dialect", dialect).rglob("*.td"):
        text = path.read_text()
        names.update(OP.findall(text))
        for block in DISCARDABLE.findall(text):
            names.update(re.findall(r"\$(\w+)", block))
    return names


def check(root):
    names = {dialect: declared(root, dialect) for dialect in DIALECTS}
    for name, path in lint.files(root, ("dialect", "passes"), (".cpp", ".h")):
        for number, line in enumerate(lint.lines(path), 1):
            for dialect, word in LITERAL.findall(line):
                if word in names[dialect] and not name.startswith(f"dialect/{dialect}/"):
                    yield f"{name}:{number}: expected the {dialect} dialect's declaration but got \"{dialect}.{word}\""


CLEAN = {"dialect/spmd/SpmdDialect.td": '  let discardableAttrs = (ins\n    "::mlir::UnitAttr":$when\n  );\n',
         "dialect/spmd/ops/A.td": 'def Spmd_UnitOp : Spmd_Op<"unit", []>;\n',
         "dialect/spmd/A.cpp": '// A\nop->getAttr("spmd.when");\n',
         "passes/import/B.cpp": '// B\nnorm("model.norm"); emitError("\'spmd.when\' is missing");\n'}
PLANTED = [({"passes/memory/C.cpp": '// C\nop->getAttr("spmd.when");\n'}, 'but got "spmd.when"'),
           ({"dialect/model/D.cpp": '// D\nop->hasAttr("spmd.when");\n'}, "dialect/model/D.cpp:2: expected the spmd dialect's"),
           ({"passes/memory/E.cpp": '// E\nop.getName().getStringRef() == "spmd.unit";\n'}, 'but got "spmd.unit"')]

if __name__ == "__main__":
    lint.main(check, CLEAN, PLANTED)
