"""Code asks for the roles of axes, ports, streams, sections and units and compares no names: a new axis or port needs no search for texts.

A name as a constant string, literal or named, is not compared, looked up, or listed to be compared. Files that read or print text are in TEXT,
words that mean something else in a file are in OTHER.
"""

import re

import lint

AXES = {"replicate", "shard", "tensor", "expert"}
PORTS = {"tokens", "targets", "lr", "step", "seed", "row", "loss_scale", "loss", "rank_loss", "grad_norm", "guard", "logits", "counted"}
STREAMS = {"compute", "gather", "reduce", "fetch", "offload", "host"}
SECTIONS = {"microbatch", "update", "forward", "init"}
NAMES = AXES | PORTS | STREAMS | SECTIONS | {"root"}

# The roles that names imply, and the recipe's table of units.
TEXT = {"dialect/rules/Roles.cpp", "runtime/plan/Roles.cpp", "dialect/spmd/Spmd.cpp", "passes/recipe/ModelUnits.cpp", "passes/solver/UnitPlan.cpp"}
# File: words that name no axis, port, stream, section or unit there.
OTHER = {
    "passes/import/export/aten/Join.cpp": {"replicate"},  # a mode of padding
    "passes/model/VerifyInput.cpp": {"init", "root"},  # an entry point and a block of the model, whose names are reserved
    "runtime/plan/check/Randomness.cpp": {"seed", "step", "row"},  # operands of kernels
    "runtime/report/machine/MachineTables.cpp": {"host"},  # an algorithm of collectives
    "tools/train/Start.cpp": {"init"},  # an option
    "runtime/train/Documents.cpp": {"tokens", "targets"},  # tensors of a file
    "runtime/train/RunLog.cpp": {"step"},  # a key of the log
}

LITERAL = r'(?:"(?P<literal>[\w.]+)"|(?P<constant>(?:\w+::)*\w+))'
USES = [re.compile(pattern) for pattern in (
    r"(?:==|!=) *" + LITERAL, LITERAL + r" *(?:==|!=)",
    r"\b(?:starts_with|ends_with|find|contains|count|lookup|Case|isOrdered|try_emplace|is_contained)\((?:[^()\"]*, *)?" + LITERAL,
    r"\[" + LITERAL + r"\](?! *[={(])",
    r"\bfor \([^:;]*: *\{" + LITERAL,
    r"\bfind(?:Input|Output|Port)?\([^()]*(?:\([^()]*\))?[^()]*, *" + LITERAL,
)]
CONSTANT = re.compile(r'\b(?:StringLiteral|StringRef|string_view|char) +(?:\*(?:const )?)?(\w+)(?:\[\])? *(?:=|\() *"([\w.]+)"')


def named(word):
    return word.rstrip(".").split(".")[0] in NAMES


def check(root):
    files = [(name, lint.lines(path)) for name, path in lint.files(root, ("dialect", "passes", "runtime", "tools"), (".cpp", ".h"))]
    own = {name: {constant: word for line in lines for constant, word in CONSTANT.findall(line) if named(word)} for name, lines in files}
    shared = {constant: word for name, constants in own.items() if name.endswith(".h") for constant, word in constants.items()}
    for name, lines in files:
        if name in TEXT:
            continue
        constants = shared | own[name]
        for number, line in enumerate(lines, 1):
            code = line.split("//")[0]
            for use in USES:
                for found in use.finditer(code):
                    literal, constant = found["literal"], (found["constant"] or "").split("::")[-1]
                    word = literal or constants.get(constant)
                    if word and named(word) and word not in OTHER.get(name, ()):
                        yield f"{name}:{number}: expected a question about a role but got a comparison with the name '{word}'"


CLEAN = {"passes/sharding/A.cpp": '// A\nif (role == AxisRole::shard || unit.getRoot())\n  add("shard");\n',
         "runtime/plan/Roles.cpp": '// R\nif (name == "lr")\n', "runtime/train/RunLog.cpp": '// L\njson.find("step");\n',
         "runtime/report/B.cpp": '// B\njson["step"] = 1;\n'}
PLANTED = [({"passes/sharding/C.cpp": '// C\nif (axis == "shard")\n'}, "a comparison with the name 'shard'"),
           ({"passes/sharding/D.cpp": '// D\nif (name.starts_with("shard."))\n'}, "a comparison with the name 'shard.'"),
           ({"passes/sharding/E.h": '// E\ninline constexpr llvm::StringLiteral expertAxis = "expert";\n',
             "passes/sharding/F.cpp": "// F\nif (axis != tensor::expertAxis)\n"}, "F.cpp:2: expected a question about a role but got a comparison with the name 'expert'"),
           ({"runtime/train/G.cpp": '// G\nfindInput(*entry, "row");\n'}, "a comparison with the name 'row'"),
           ({"runtime/train/H.cpp": '// H\nfor (const char *name : {"lr", "seed"})\n'}, "a comparison with the name 'lr'"),
           ({"passes/memory/I.cpp": '// I\nauto last = streams["gather"];\n'}, "a comparison with the name 'gather'"),
           ({"passes/memory/J.cpp": '// J\nbool is = llvm::StringSwitch<bool>(stream).Case("fetch", true);\n'}, "a comparison with the name 'fetch'"),
           ({"tools/plan/K.cpp": '// K\nstatic const char *name = "update";\nif (section->name == name)\n'}, "a comparison with the name 'update'")]

if __name__ == "__main__":
    lint.main(check, CLEAN, PLANTED)
