"""The layers of the code: which folder may include which, checked on the include lines of C++ and tablegen files."""

import re

import lint

# Folders of the runtime from the lowest layer up; folders of one layer do not include each other.
RUNTIME = {"base": 0, "text": 1, "plan": 1, "device": 2, "collective": 2, "kernel": 3, "executor": 4, "train": 5,
           "checkpoint": 6, "report": 2, "capi": 7}
# What tools print of plans: no other folder of the runtime includes it, but the C interface, which is above all others.
REPORT = "runtime/report/"
# The records of the kernels: they include only the base, and every folder above the base may include them.
CATALOGUE = "runtime/kernel/catalogue/"
# Inside runtime/collective: the protocol of processes, the links that carry it, and the start that chooses a link.
COLLECTIVE = {"process": 0, "socket": 1, "mpi": 1, "launch": 2}
DIALECTS = ("model", "spmd", "plan")
INCLUDE = re.compile(r'^\s*(?:#\s*)?include\s+["<]([^">]+)[">]')
# Tools that link no LLVM, and the folders of Sluice that they may include.
PLAIN_TOOLS = {
    "tools/CommandLine.h": ("runtime/base/",),
    "tools/CommandLine.cpp": ("runtime/base/", "tools/CommandLine.h"),
    "tools/Process.h": (),
    "tools/Process.cpp": ("runtime/base/", "tools/CommandLine.h", "tools/Process.h"),
    "tools/sluice-train.cpp": ("tools/train/",),
    "tools/train/": (*(f"runtime/{folder}/" for folder in RUNTIME if folder != "report"), "runtime/report/machine/", "tools/CommandLine.h", "tools/Process.h"),
    "tools/kernel-page.cpp": (CATALOGUE,),
    "tools/plan/": ("runtime/", "passes/solver/", "tools/CommandLine.h"),
    "tools/sluice-plan.cpp": ("runtime/", "tools/plan/", "tools/CommandLine.h", "tools/Process.h"),
    "tools/sluice-steps.cpp": ("runtime/", "tools/CommandLine.h", "tools/Process.h", "tools/steps/"),
    "tools/steps/": ("runtime/",),
    "tools/sluice-calibrate.cpp": ("runtime/", "tools/CommandLine.h", "tools/Process.h", "tools/calibrate/"),
    "tools/calibrate/": ("runtime/", "tools/calibrate/"),
}


def plain_tool(name):
    """The file's entry in PLAIN_TOOLS, or that of its folder; None for other files."""
    folder = name.rpartition("/")[0] + "/"
    return name if name in PLAIN_TOOLS else folder if folder in PLAIN_TOOLS else None


def allowed(name, target):
    """May the file `name` include `target`? Both are paths from the root."""
    at, to = name.split("/"), target.split("/")
    if name.startswith(CATALOGUE):
        return target.startswith((CATALOGUE, "runtime/base/"))
    if at[:2] == to[:2] == ["runtime", "collective"] and at[2] in COLLECTIVE and to[2] in COLLECTIVE:
        return at[2] == to[2] or COLLECTIVE[to[2]] < COLLECTIVE[at[2]]
    if at[0] == "test" or at[:2] == to[:2]:
        return True
    if plain_tool(name):
        return target.startswith(PLAIN_TOOLS[plain_tool(name)])
    if at[0] == "tools":
        return to[0] != "test"
    if at[0] == "runtime":
        if to[0] != "runtime" or to[1] not in RUNTIME:
            return False
        if target.startswith(CATALOGUE):
            return at[1] != "base"
        if target.startswith(REPORT):
            return at[1] == "capi"
        # Kernels depend only on the base, not on plans or devices.
        return to[1] == "base" if at[1] == "kernel" else RUNTIME[to[1]] < RUNTIME[at[1]]
    if at[0] == "dialect":
        if at[1] == "rules":
            return to[0] == "runtime" and (to[1] == "base" or target.startswith(CATALOGUE))
        return to[:2] == ["dialect", "rules"] or to[:2] == ["runtime", "base"] or target.startswith(CATALOGUE)
    if at[0] == "passes":
        if at[1] == "solver":
            return to[0] == "runtime" and to[1] in ("base", "plan", "report")
        if at[1] == "choose":
            return to[0] == "passes" and to[1] not in ("driver", "capi") or to[0] == "dialect" or to[:2] in (["runtime", "base"], ["runtime", "plan"]) or target.startswith("runtime/report/machine/")
        # The driver of the compiler's programs, and its C interface above it.
        if at[1] == "driver":
            return to[0] in ("passes", "dialect") and to[:2] != ["passes", "capi"] or to[0] == "runtime" and to[1] in ("base", "plan", "report")
        if at[1] == "capi":
            return to[0] in ("passes", "dialect") or to[0] == "runtime" and to[1] in ("base", "plan", "report", "capi")
        if to[:2] in (["passes", "choose"], ["passes", "driver"], ["passes", "capi"]):
            return False
        if len(at) == 2:
            return to[0] in ("passes", "dialect", "runtime")
        if to[0] == "dialect" or to[:2] in (["passes", "solver"], ["passes", "recipe"], ["runtime", "base"]):
            return True
        if target.startswith(CATALOGUE):
            return True
        return at[1] == "emit" and to[0] == "runtime" and to[1] == "plan"
    return True


def plain(name):
    """May the file not include LLVM?"""
    return name.startswith(("runtime/", "passes/solver/")) or plain_tool(name) is not None


def check(root):
    for name, path in lint.files(root, ("dialect", "passes", "runtime", "tools"), lint.SOURCES):
        for number, line in enumerate(lint.lines(path), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match[1]
            top = target.split("/")[0]
            if top in ("llvm", "mlir", "llvm-c", "mlir-c") and plain(name):
                yield f"{name}:{number}: includes {target}, expected no LLVM in the runtime and the solver"
            elif top in ("dialect", "passes", "runtime", "tools", "test") and "/" in target and not allowed(name, target):
                yield f"{name}:{number}: includes {target}, which its floor does not allow"


CLEAN = {
    "runtime/train/A.cpp": '#include "runtime/executor/Executor.h"\n#include "runtime/base/Status.h"\n',
    "runtime/kernel/cpu/A.cpp": '#include "runtime/kernel/Kernel.h"\n#include "runtime/base/DType.h"\n',
    "runtime/plan/A.cpp": '#include "runtime/kernel/catalogue/Catalogue.h"\n',
    "dialect/model/ops/A.cpp": '#include "dialect/rules/Rules.h"\n#include "mlir/IR/Builders.h"\n',
    "passes/emit/A.cpp": '#include "runtime/plan/Plan.h"\n#include "passes/solver/Problem.h"\n',
    "passes/Pipeline.cpp": '#include "passes/memory/Passes.h"\n',
    "runtime/capi/A.cpp": '#include "runtime/report/Explain.h"\n#include "runtime/checkpoint/Load.h"\n',
    "passes/driver/A.cpp": '#include "passes/choose/Planner.h"\n#include "runtime/report/Diff.h"\n',
    "passes/capi/A.cpp": '#include "passes/driver/Fit.h"\n#include "runtime/capi/Call.h"\n',
    "passes/choose/A.cpp": '#include "passes/Pipeline.h"\n#include "passes/memory/Passes.h"\n#include "runtime/report/machine/MachineFile.h"\n',
    "tools/plan/A.cpp": '#include "passes/solver/Problem.h"\n',
    "tools/sluice-plan.cpp": '#include "tools/plan/A.h"\n#include "runtime/plan/Plan.h"\n',
    "test/unit/a.cpp": '#include "passes/memory/Passes.h"\n',
}
PLANTED = [
    ({"runtime/plan/A.cpp": '#include "runtime/device/Device.h"\n'}, "runtime/plan/A.cpp:1: includes runtime/device"),
    ({"runtime/device/A.cpp": '\n#include "runtime/collective/Communicator.h"\n'}, "runtime/device/A.cpp:2"),
    ({"runtime/kernel/catalogue/A.cpp": '#include "runtime/kernel/Kernel.h"\n'}, "runtime/kernel/catalogue/A.cpp:1"),
    ({"passes/schedule/A.cpp": '#include "runtime/kernel/Kernel.h"\n'}, "passes/schedule/A.cpp:1"),
    ({"runtime/kernel/A.cpp": '#include "runtime/plan/Plan.h"\n'}, "runtime/kernel/A.cpp:1"),
    ({"runtime/collective/process/A.cpp": '#include "runtime/collective/mpi/MpiLink.h"\n'}, "runtime/collective/process/A.cpp:1"),
    ({"runtime/train/A.h": '#include "runtime/report/Printer.h"\n'}, "runtime/train/A.h:1"),
    ({"tools/train/C.cpp": '#include "runtime/report/accounts/EagerAccount.h"\n'}, "tools/train/C.cpp:1"),
    ({"runtime/train/B.h": '#include "passes/solver/Problem.h"\n'}, "runtime/train/B.h:1"),
    ({"runtime/checkpoint/A.h": '#include "runtime/capi/Call.h"\n'}, "runtime/checkpoint/A.h:1"),
    ({"passes/choose/B.cpp": '#include "passes/driver/Fit.h"\n'}, "passes/choose/B.cpp:1"),
    ({"passes/driver/B.cpp": '#include "passes/capi/Api.h"\n'}, "passes/driver/B.cpp:1"),
    ({"passes/driver/C.cpp": '#include "runtime/train/Ranks.h"\n'}, "passes/driver/C.cpp:1"),
    ({"passes/capi/B.cpp": '#include "runtime/train/Ranks.h"\n'}, "passes/capi/B.cpp:1"),
    ({"runtime/base/A.h": "#include <llvm/ADT/SmallVector.h>\n"}, "expected no LLVM"),
    ({"passes/solver/A.h": '#include "mlir/IR/Value.h"\n'}, "expected no LLVM"),
    ({"passes/memory/A.cpp": '#include "passes/schedule/Passes.h"\n'}, "passes/memory/A.cpp:1"),
    ({"passes/memory/B.cpp": '#include "runtime/plan/Plan.h"\n'}, "passes/memory/B.cpp:1"),
    ({"passes/Pipeline.cpp": '#include "passes/choose/Search.h"\n'}, "passes/Pipeline.cpp:1"),
    ({"passes/choose/A.cpp": '#include "runtime/report/Describe.h"\n'}, "passes/choose/A.cpp:1"),
    ({"dialect/model/A.td": 'include "dialect/spmd/SpmdOps.td"\n'}, "dialect/model/A.td:1"),
    ({"dialect/rules/A.h": '#include "dialect/model/Model.h"\n'}, "dialect/rules/A.h:1"),
    ({"tools/train/A.cpp": '#include "passes/solver/Problem.h"\n'}, "tools/train/A.cpp:1"),
    ({"tools/train/B.cpp": '#include "llvm/ADT/SmallVector.h"\n'}, "expected no LLVM"),
    ({"tools/sluice-train.cpp": '#include "passes/solver/Problem.h"\n'}, "tools/sluice-train.cpp:1"),
]

if __name__ == "__main__":
    lint.main(check, CLEAN, PLANTED)
