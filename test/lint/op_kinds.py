"""Passes query ops through their interfaces and do not depend on op kinds: a new op needs no change in passes/.

They name no kernel: records state what passes ask of one (sums, parts, class of work).

They name the ops of the program's structure, build the few ops that a phase adds, and search for no others. They build collectives and copies and search for
them by CollectiveOpInterface: a new collective needs no change in passes/.
"""

import re

import lint

STRUCTURE = {"Parameter", "Read", "Write", "Gradient", "StepMean", "Block", "Checkpoint", "Recompute", "Yield",
             # The model author's collectives, which are lowered to others.
             "AllReduce", "AllGather", "ReduceScatter"}
# Ops that phases create: the loss's softmax over a sharded axis, clipping, updates, initial values, conversions,
# paddings.
BUILT = {"Add", "Subtract", "Multiply", "Divide", "Maximum", "Exp", "Log", "Scale", "Cast", "Constant", "Reshape",
         "Transpose", "Slice", "Pad", "PowerSum", "NormRoot", "ClipCoefficient", "AllFinite", "Sgd", "Adam", "Adamw",
         "RandomNormal", "RandomUniform"}
# Ops that phases search for: a conversion at a boundary, sums and maxima after which a reduction may be moved.
SOUGHT = {"Cast", "Add", "Maximum"}

# Launches that the lowering builds.
COPY = {"copy"}

KERNEL = re.compile(r"\bKernelId::(\w+)|getKernel\(\) [!=]= \"(\w+)\"")
COLLECTIVE = re.compile(r"\bspmd::((?:AllGather|ReduceScatter|AllReduce|Copy)Start)Op\b")
NAMED = re.compile(r"\bmodel::([A-Z]\w*)Op\b")
SEARCH = re.compile(r"\b(?:isa|isa_and_nonnull|cast|dyn_cast|dyn_cast_or_null|getOps|walk|getParentOfType|getDefiningOp)<([^<>()]*)>")


def check(root):
    for name, path in lint.files(root, ("passes",), (".cpp", ".h")):
        if name.startswith("passes/import/"):
            continue
        for number, line in enumerate(lint.lines(path), 1):
            for kernel in (names[0] or names[1] for names in KERNEL.findall(line)):
                if kernel not in COPY:
                    yield f"{name}:{number}: expected a field of the kernel's record but got kernel {kernel}"
            for op in NAMED.findall(line):
                if op not in STRUCTURE | BUILT:
                    yield f"{name}:{number}: expected an interface of the op but got model::{op}Op"
            for types in SEARCH.findall(line):
                for op in COLLECTIVE.findall(types):
                    yield f"{name}:{number}: expected CollectiveOpInterface but got a search for spmd::{op}Op"
                for op in NAMED.findall(types):
                    if op in BUILT - SOUGHT:
                        yield f"{name}:{number}: expected an interface of the op but got a search for model::{op}Op"


CLEAN = {"passes/model/A.cpp": "// A\nauto start = spmd::CopyStartOp::create(b, l, y);\nauto x = isa<model::ReadOp>(op) ? model::ExpOp::create(b, l, y) : z;\n",
         "passes/import/B.cpp": "// B\nmodel::RopeOp::create(b, l, y);\n"}
PLANTED = [({"passes/sharding/C.cpp": "// C\nif (auto rope = dyn_cast<model::RopeOp>(op))\n"}, "expected an interface of the op but got model::RopeOp"),
           ({"passes/schedule/F.cpp": "// F\nif (op.getKernel() == StringRef(kernelName(KernelId::matmul)))\n"}, "got kernel matmul"),
           ({"passes/schedule/G.cpp": "// G\nif (op.getKernel() != \"accumulate\")\n"}, "got kernel accumulate"),
           ({"passes/schedule/E.cpp": "// E\nif (auto gather = wait.getDefiningOp<spmd::AllGatherStartOp>())\n"}, "a search for spmd::AllGatherStartOp"),
           ({"passes/sharding/D.cpp": "// D\nif (isa<model::AddOp, model::ExpOp>(op))\n"}, "a search for model::ExpOp")]

if __name__ == "__main__":
    lint.main(check, CLEAN, PLANTED)
