"""Follows docs/add-an-op.md, add-a-recipe-key.md and add-a-pass.md in a copy of the sources: adds an op `cube` with a CPU and a CUDA kernel, a recipe key and
a pass that reads it, builds, and runs the coverage tests and a plan of two ranks with the op.

usage: extend.py SOURCES SCRATCH

Each page must list the files that its part changes. Kernels of the op run on the emulated GPU too. The last line is "N passed, N failed, 0 skipped".
docs/add-a-collective.md is followed by unit-passes-collective.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

SOURCES, SCRATCH = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
BUILD = SCRATCH / "build"
BIN = BUILD / "bin"

# page: [(file, text after which the addition goes, addition)]; an empty text creates the file.
EDITS = {
    "add-an-op.md": [
        ("dialect/model/ops/Activation.td", 'include "dialect/model/ModelDialect.td"\n', '''
def Model_CubeOp : Model_Op<"cube", [Model_ResultsLike<["x"]>, DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let summary = "x^3";
  let description = [{
    **Semantics.** `x x x`, elementwise. (cube_c1) x has at least one dim.

    ```mlir
    %y = model.cube %x : (tensor<3x5xf32>) -> tensor<3x5xf32>
    ```
  }];
  let arguments = (ins Model_OfMinRank<Model_FloatTensor, 1>:$x);
  let results = (outs Model_FloatTensor:$y);
  let flopsPerElement = "2";
}
'''),
        ("dialect/model/ops/Activation.cpp", "namespace sluice::model {\n", '''
// dx = 3 dy x x
FailureOrValues CubeOp::buildVjp(ImplicitLocOpBuilder &builder, ArrayRef<Value> cotangents) {
  Value square = MultiplyOp::create(builder, getX(), getX());
  return SmallVector<Value>{MultiplyOp::create(builder, cotangents[0], makeScale(builder, square, 3))};
}
FailureOrValues CubeOp::decompose(ImplicitLocOpBuilder &builder) {
  Value square = MultiplyOp::create(builder, getX(), getX());
  return SmallVector<Value>{MultiplyOp::create(builder, square, getX())};
}
'''),
        ("runtime/kernel/catalogue/pointwise.def", 'SLUICE_UNARY(relu, fast, "y = max(x, 0)")\n',
         'SLUICE_KERNEL(cube, reference, .summary = "y = x x x", .dims = "x[all..] -> y[all..]", .inputs = {{"x", floats}},\n'
         '              .outputs = {{"y", floats}}, .mayAlias = {{"x", "y"}})\n'),
        ("runtime/kernel/cpu/reference/Pointwise.cpp", "Bound sqrt(const KernelRequest &request) { return unary(request, std::sqrt); }\n",
         "Bound cube(const KernelRequest &request) {\n  return unary(request, [](double x) { return x * x * x; });\n}\n"),
        ("runtime/kernel/cuda/Pointwise.cpp", "Bound kernels::relu(const KernelRequest &request) { return unary(request, Unary::relu); }\n",
         "Bound kernels::cube(const KernelRequest &request) { return unary(request, Unary::cube); }\n"),
        ("runtime/kernel/cuda/device/Pointwise.h", "  silu,\n", "  cube,\n"),
        ("runtime/kernel/cuda/device/Pointwise.h", "    return siluOf(x);\n", "  case Unary::cube:\n    return x * x * x;\n"),
        ("runtime/kernel/cuda/device/Dense.h", "               geluTanh, silu", ", cube"),
        ("test/cuda/KernelsTest.cpp", '"sigmoid", "softplus", "silu"', ', "cube"'),
        ("test/unit/plan/rules/RuleCases.cpp", '"sigmoid", "softplus", "silu", "cast"', ', "cube"'),
        ("test/dialect/model/round-trip.mlir", "    %0 = model.sigmoid %x : (tensor<3x5xf32>) -> tensor<3x5xf32>\n",
         "    // CHECK: model.cube\n    %cube = model.cube %x : (tensor<3x5xf32>) -> tensor<3x5xf32>\n"),
        ("test/dialect/model/sharding-rules.mlir", "    %0 = model.sigmoid %x : (tensor<3x5xf32>) -> tensor<3x5xf32>\n",
         '    // CHECK: model.cube {{.*}}model.sharding_rule = "([i, j]) -> ([i, j]) {i=3, j=5}"\n'
         "    %cube = model.cube %x : (tensor<3x5xf32>) -> tensor<3x5xf32>\n"),
        ("test/dialect/model/cost.mlir", "    %0 = model.sigmoid %x : (tensor<3x5xf32>) -> tensor<3x5xf32>\n",
         '    // CHECK: model.cube {{.*}}model.cost = "flops=30, bytes=120"\n'
         "    %cube = model.cube %x : (tensor<3x5xf32>) -> tensor<3x5xf32>\n"),
        ("test/dialect/model/errors-activation.mlir", "Labels are those of docs/spec/model.md.\n", '''
// cube_c1
func.func @cube(%x: tensor<f32>) {
  // expected-error @below {{values of rank 1 or more, but got 'tensor<f32>'}}
  %0 = model.cube %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----
'''),
        ("test/dialect/model/derivative-more.mlir", "// -----\n", '''
// cube
// CHECK-LABEL: func.func @f_vjp
// CHECK: model.multiply
// CHECK: model.scale
func.func @f(%x: tensor<2x3xf32> {model.input = "x"}) -> (tensor<2x3xf32> {model.output = "y"}) attributes {model.entry = #model.entry<forward>} {
  %y = model.cube %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----
'''),
        ("test/dialect/model/decompose-more.mlir", "rotations and windows.\n", '''
// CHECK-LABEL: func.func @cube
// CHECK-COUNT-2: model.multiply
func.func @cube(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = model.cube %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
'''),
        ("test/numeric/VjpCases.cpp", '  list.push_back(movement("power", "{exponent = 3.0}", "tensor<2x3x4xf64>"));\n',
         '  list.push_back(unary("cube", 2, 0));\n  list.back().composite = true;\n'),
        ("test/unit/kernel/Catalogue.cpp", '"cos",        "count_up",', ' "cube",'),
        ("test/reference/samples/index.json", ' "rope": {"without": "no entry"},\n', ' "cube": {"without": "no entry"},\n'),
    ],
    "add-a-recipe-key.md": [
        ("passes/recipe/Recipe.h", "    bool overlapSteps = true;\n", "    std::int64_t mostInstructions = 0;\n"),
        ("passes/recipe/RecipeKeys.cpp", "      FIELD(schedule.overlapSteps));\n",
         '  add(count("schedule.most_instructions", "the number of instructions of a plan above which it is an error; 0: none"),\n'
         "      FIELD(schedule.mostInstructions));\n"),
    ],
    "add-a-pass.md": [
        ("passes/memory/Passes.td", "options = [RecipeOption<\"budget\", \"memory.budget\">];\n}\n", '''
def CheckInstructions : Pass<"plan-check-instructions", "::mlir::ModuleOp"> {
  let summary = "diagnoses plans with more instructions than `schedule.most_instructions`";
  let description = [{Changes nothing.}];
  let options = [RecipeOption<"mostInstructions", "schedule.most_instructions">];
}
'''),
        ("passes/memory/CheckInstructions.cpp", "", '''//===- CheckInstructions.cpp - plan-check-instructions ------------------------------===//
#include "passes/memory/Passes.h"

#include "dialect/plan/Accesses.h"
#include "passes/recipe/RecipeAttr.h"

using namespace mlir;

namespace sluice {
#define GEN_PASS_DEF_CHECKINSTRUCTIONS
#include "passes/memory/Passes.h.inc"

namespace {
struct CheckInstructions : impl::CheckInstructionsBase<CheckInstructions> {
  using CheckInstructionsBase::CheckInstructionsBase;
  void runOnOperation() override {
    FailureOr<Recipe> recipe = recipeFor(getOperation(), mostInstructions);
    if (failed(recipe))
      return signalPassFailure();
    std::int64_t count = 0;
    getOperation().walk([&](plan_ir::SectionOp section) { count += std::distance(section.getBody().front().begin(), section.getBody().front().end()); });
    if (count > recipe->schedule.mostInstructions && recipe->schedule.mostInstructions > 0) {
      getOperation().emitError() << "too many instructions, expected at most " << recipe->schedule.mostInstructions << " but got " << count;
      signalPassFailure();
    }
  }
};
} // namespace
} // namespace sluice
'''),
        ("passes/memory/Pipeline.cpp", "  manager.addPass(createCheckBudget());\n", "  manager.addPass(createCheckInstructions());\n"),
        ("test/passes/memory/plan-check-instructions.mlir", "", '''// RUN: sluice-opt %s -plan-check-instructions="schedule.most_instructions=2" -verify-diagnostics
// expected-error @below {{too many instructions, expected at most 2 but got 3}}
module {
  plan.buffer @a : tensor<4xf32> {space = #plan.space<device>, buffer_class = #plan.class<temporary>, bytes = 16 : i64, entry = "f"}
  plan.entry @f {
    plan.section "main" repeat 1 {
      plan.fill <@a : 4xf32> with 0.0 {phase = #plan.phase<forward>}
      plan.fill <@a : 4xf32> with 1.0 {phase = #plan.phase<forward>}
      plan.fill <@a : 4xf32> with 2.0 {phase = #plan.phase<forward>}
    }
  }
}
'''),
        ("test/pipeline/passes.py", '        "plan-check-budget": (BASE, checks),\n', '        "plan-check-instructions": (BASE, checks),\n'),
        ("test/pipeline/passes.py", '    "plan-check-budget": (small_budget, None),\n',
         '    "plan-check-instructions": (lambda text: text.replace("model.recipe = {", "model.recipe = {schedule.most_instructions = 2 : i64, ", 1), None),\n'),
    ],
}

MODEL = """module {
  model.parameter @w : tensor<8x8xf32> normal(0.0, 0.3)
  func.func @train_step(%x: tensor<4x8xf32> {model.input = "x"}) -> (tensor<f32> {model.output = "loss"}) attributes {model.entry = #model.entry<train>} {
    %w = model.read @w : tensor<8x8xf32>
    %h = model.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
CUBE
    %loss = model.reduce_mean %y {dims = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
"""
CUBE = "    %y = model.cube %h : (tensor<4x8xf32>) -> tensor<4x8xf32>"
PRODUCTS = """    %s = model.multiply %h, %h : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = model.multiply %s, %h : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>"""

results = []


def record(name, problem):
    results.append(not problem)
    print(f"{'failed' if problem else 'passed'}: extend {name}{': ' + problem if problem else ''}", flush=True)


def run(command, **options):
    environment = {**os.environ, "SLUICE_BUILD": str(BUILD), "PATH": f"{BIN}:{os.environ['PATH']}"}
    return subprocess.run(command, cwd=options.pop("cwd", SCRATCH), env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def succeeds(name, command):
    """Records the command's exit code; returns its output."""
    done = run(command)
    record(name, "" if done.returncode == 0 else f"exit code {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def copy_sources():
    """The sources with the edits. A file that has its content already is not written, so that a second run builds little."""
    names = subprocess.run(["git", "-C", SOURCES, "ls-files", "-co", "--exclude-standard"], text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    contents = {name: (SOURCES / name).read_bytes() for name in names if (SOURCES / name).is_file()}
    for name, after, text in (edit for edits in EDITS.values() for edit in edits):
        before = contents.get(name, b"").decode()
        if after not in before:
            raise SystemExit(f"error: {name} has no '{after.strip()}': extend.py needs another place for its edit")
        contents[name] = (before.replace(after, after + text, 1) if after else text).encode()
    for name, content in contents.items():
        path = SCRATCH / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod((SOURCES / name).stat().st_mode if (SOURCES / name).exists() else 0o644)
    run(["git", "init", "-q"])
    run(["git", "add", "-A"])


def listed(page):
    """Patterns of the paths that a page names: `<family>` and `*` stand for any name, a path without a folder is in that of the previous one."""
    patterns, folder = [], ""
    for span in re.findall(r"`([^`\n]+)`", (SOURCES / "docs" / page).read_text()):
        if not re.fullmatch(r"[\w./<>*-]+\.(td|cpp|h|inc|def|cu|mlir|py|json|md)|[\w./-]+/", span):
            continue
        folder = span.rpartition("/")[0] if "/" in span else folder
        path = span if "/" in span else f"{folder}/{span}"
        pattern = re.escape(path).replace(r"\*", "[^/]*")
        patterns.append(re.sub(r"<[^>]*>", "[^/]+", pattern) + (".*" if span.endswith("/") else ""))
    return patterns


def check_pages():
    for page, edits in EDITS.items():
        missing = sorted({name for name, _, _ in edits if not any(re.fullmatch(pattern, name) for pattern in listed(page))})
        record(f"{page} lists the files", "not listed: " + ", ".join(missing) if missing else "")


def update_generated():
    """What the pages have from commands: specifications, the table of recipe keys, the digest of the records."""
    run(["bash", "tools/generate-docs.sh"])
    keys = run([BIN / "sluice-compile", "--recipe-keys"]).stdout
    page = SCRATCH / "docs/recipe.md"
    text = page.read_text()
    page.write_text(text[:text.index(keys.splitlines()[0])] + keys)
    version = run([BIN / "unit-kernel", "--gtest_filter=*VersionIsThatOfTheRecords"]).stdout
    digests = re.findall(r'"([0-9a-f]{16})"', version)
    record("a changed record changes the digest", "" if len(digests) == 2 else version[-500:])
    path = SCRATCH / "test/unit/kernel/CatalogueVersion.cpp"
    for digest in digests:
        path.write_text(path.read_text().replace(digest, digests[0]))


def losses(text):
    return [float(loss) for loss in re.findall(r"loss[ =]+([-+.e0-9]+)", text)]


def train():
    logs = {}
    for name, body in (("cube", CUBE), ("products", PRODUCTS)):
        (SCRATCH / f"{name}.mlir").write_text(MODEL.replace("CUBE", body))
        succeeds(f"{name} compiles for two ranks", [BIN / "sluice-compile", f"{name}.mlir", "--set", "mesh.shard=2", "-o", f"{name}.plan"])
        logs[name] = run([BIN / "sluice-train", f"{name}.plan", "--data", "random:7", "--steps", "3"]).stdout
    check = succeeds("the plan is checked", [BIN / "sluice-plan", "check", "cube.plan"])
    record("P9 is proved", "" if re.search(r"^P9 .* proved  ", check, re.M) else check)
    record("the plan launches the kernel", "" if "cube(" in run([BIN / "sluice-plan", "print", "cube.plan"]).stdout else "no launch")
    found = losses(logs["cube"])
    isNear = len(found) >= 3 and all(abs(a - b) <= 1e-5 * max(1, abs(b)) for a, b in zip(found, losses(logs["products"])))
    record("two ranks train it as the products", "" if isNear else logs["cube"] + logs["products"])
    gpu = run([BIN / "sluice-compile", "cube.mlir", "--set", "mesh.shard=2", "--set", "target.device=cuda", "--set", "target.arch=sm_90", "-o", "gpu.plan"])
    record("it compiles for GPUs", "" if gpu.returncode == 0 else gpu.stdout)
    few = run([BIN / "sluice-compile", "cube.mlir", "--set", "schedule.most_instructions=2", "-o", "few.plan"])
    record("the key reaches the pass", "" if few.returncode == 1 and "too many instructions, expected at most 2" in few.stdout else few.stdout)


def main():
    SCRATCH.mkdir(parents=True, exist_ok=True)
    copy_sources()
    check_pages()
    succeeds("configure", ["cmake", "-G", "Ninja", "-S", ".", "-B", "build", "-DSLUICE_BENCHMARKS=OFF"])
    programs = ["sluice-opt", "sluice-compile", "sluice-plan", "sluice-train", "sluice-import", "kernel-page", "unit-dialect-model", "unit-rules", "unit-kernel", "unit-cuda-kernels", "numeric"]
    succeeds("build", ["ninja", "-C", BUILD, *programs])
    update_generated()
    succeeds("build with the new digest", ["ninja", "-C", BUILD, "unit-kernel"])
    for program, cases in (("unit-dialect-model", "*"), ("unit-rules", "*"), ("unit-kernel", "*Catalogue*:*Signatures*:*cube*"), ("unit-cuda-kernels", "CudaKernels.Pointwise"), ("numeric", "*cube*")):
        output = succeeds(program, [BIN / program, f"--gtest_filter={cases}"])
        record(f"{program} runs tests", "" if re.search(r"PASSED.* [1-9]\d* test", output) else output[-500:])
    succeeds("lit tests", ["/usr/lib/llvm-22/bin/lit", "-q", "test/dialect/model", "test/passes/memory", "test/docs/generated.test", "test/lint/constraints.test",
                           "test/lint/op-kinds.test", "test/lint/floors.test"])
    for function in ("table_has_every_pass", "every_pass_that_verifies_is_edited"):
        succeeds(function, ["/usr/lib/llvm-22/bin/lit", "-q", "test/pipeline/passes.py", "--filter", function])
    train()
    print(f"{sum(results)} passed, {results.count(False)} failed, 0 skipped")
    sys.exit(0 if all(results) else 1)


main()
