//===- OpCoverageTest.cpp - every op has interfaces, kernels, a spec entry and tests ----------===//
//
// The ops are those that the dialect registers. An op without one of these is an error here:
//   - the rules: derivative, or its absence in the definition; sharding rule; cost; kernel call; precision
//   - a kernel on each device
//   - a rule of proof P9, or the reason why it has none
//   - an entry in docs/spec/model.md with an example, and a wrong program for each of its numbered constraints
//   - its sharding rule, its cost, its derivative and its decomposition as IR, in test/dialect/model
//   - values against PyTorch's, or its decomposition's, or a kernel test's; and its derivative by finite differences
//   - PyTorch's sample inputs, or the reason why it has none
// RulesTest and VjpRuleTest check the values that the interface methods return.
//
//===----------------------------------------------------------------------===//

#include "test/unit/dialect/model/Programs.h"

#include "runtime/kernel/Kernel.h"
#include "runtime/plan/check/proof/KernelRules.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

using namespace mlir;

namespace sluice::model::test {
namespace {

std::string readText(const std::filesystem::path &path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const std::filesystem::path source = SLUICE_SOURCE_DIR;

/// The texts of test/dialect/model/<prefix>*.mlir, one after another.
std::string testsNamed(const std::string &prefix) {
  std::string all;
  for (const auto &file : std::filesystem::directory_iterator(source / "test/dialect/model"))
    if (file.path().filename().string().rfind(prefix, 0) == 0)
      all += readText(file.path());
  EXPECT_FALSE(all.empty()) << prefix;
  return all;
}

bool hasWord(const std::string &text, const std::string &word) {
  return std::regex_search(text, std::regex("(^|[^a-z0-9_.])" + word + "([^a-z0-9_]|$)"));
}
bool hasOp(const std::string &text, const std::string &name) { return hasWord(text, "model\\." + name); }

/// Ops of the program's structure, which compute nothing; phases remove them before a plan is emitted.
const std::set<std::string> structure = {"parameter", "read",  "write",    "block",    "checkpoint",
                                         "recompute", "yield", "gradient", "step_mean"};

/// Ops whose values are tested only with their kernels, and the files of these tests.
const std::map<std::string, std::string> testedByKernel = {{"iota", "Scalars.cpp"},
                                                           {"random_normal", "Random.cpp"},
                                                           {"random_uniform", "Random.cpp"},
                                                           {"all_finite", "Scalars.cpp"},
                                                           {"count_up", "Scalars.cpp"},
                                                           {"compare", "Scalars.cpp"},
                                                           {"matmul_gelu_grad", "AgreementProducts.cpp"}};

/// Ops that are gone before there are kernel calls: test/passes/model/differentiate-stop-gradient.mlir.
const std::set<std::string> removed = {"stop_gradient"};

/// Ops whose derivative cannot be compared with a finite difference: rounding is a step function.
const std::set<std::string> withoutDifferences = {"cast"};

class OpCoverage : public testing::Test {
protected:
  OpCoverage() : module(programs.parseAll()) {
    for (RegisteredOperationName op : programs.context.getRegisteredOperationsByDialect("model"))
      ops.push_back(op.getStringRef().split('.').second.str());
    // The first op of each kind in the round-trip test.
    module->walk([&](Operation *op) { instances.emplace(op->getName().stripDialect().str(), op); });
    EXPECT_GT(ops.size(), 90u);
  }

  /// Runs `check` on every op that computes.
  template <typename Check> void forComputing(Check check) {
    for (const std::string &op : ops)
      if (!structure.count(op)) {
        ASSERT_TRUE(instances.count(op)) << "model." << op << " is not in round-trip.mlir";
        check(op, instances.at(op));
      }
  }

  static bool isDifferentiable(Operation *op) {
    auto vjp = dyn_cast<VjpOpInterface>(op);
    return vjp && vjp.isDifferentiable();
  }

  Programs programs;
  OwningOpRef<ModuleOp> module;
  std::vector<std::string> ops;
  std::map<std::string, Operation *> instances;
};

TEST_F(OpCoverage, Rules) {
  for (const std::string &op : structure)
    EXPECT_TRUE(std::count(ops.begin(), ops.end(), op)) << op << " is no op";
  forComputing([](const std::string &name, Operation *op) {
    EXPECT_TRUE(isa<VjpOpInterface>(op)) << "model." << name << " does not say whether it has a derivative";
    EXPECT_TRUE(isa<ShardingRuleOpInterface>(op)) << "model." << name << " has no sharding rule";
    EXPECT_TRUE(isa<CostOpInterface>(op)) << "model." << name << " has no cost";
    EXPECT_TRUE(isa<KernelOpInterface>(op)) << "model." << name << " has no kernel call";
    EXPECT_TRUE(isa<PrecisionOpInterface>(op)) << "model." << name << " does not say what precision changes";
  });
}

/// Every build has the records of the GPU's kernels; without a toolkit it has no device code.
TEST_F(OpCoverage, AKernelOnEachDevice) {
  forComputing([](const std::string &name, Operation *op) {
    std::string kernel = cast<KernelOpInterface>(op).getKernelCall().name().str();
    EXPECT_NE(findCpuKernel(kernel), nullptr) << "model." << name << ": no kernel " << kernel << " on the CPU";
    EXPECT_NE(findCudaKernel(kernel), nullptr) << "model." << name << ": no kernel " << kernel << " on CUDA";
  });
}

/// Ops without a rule of their kernel in the proof, and the reasons. An op that is not here needs a rule: without it,
/// P9 is not proved for any plan that uses the op.
const std::map<std::string, std::string> withoutProofRule = {
    {"broadcast", "a view"},
    {"reshape", "a view"},
    {"transpose", "a view"},
    {"slice", "a view"},
    {"split", "a view"},
    {"all_gather", "a view of all ranks' parts"},
    {"reduce_scatter", "a view of a sum over ranks"},
    {"all_reduce", "a sum over ranks"},
    {"constant", "a number"},
    {"scale", "a multiple of its operand"},
};

TEST_F(OpCoverage, ARuleOfTheProof) {
  for (const auto &[op, reason] : withoutProofRule)
    EXPECT_TRUE(std::count(ops.begin(), ops.end(), op)) << op << " is no op";
  forComputing([](const std::string &name, Operation *op) {
    const KernelRecord *record = check::proof::recordOfOp("model." + name);
    EXPECT_NE(record != nullptr, withoutProofRule.count(name) + removed.count(name) == 1) << "model." << name;
    if (record) {
      EXPECT_EQ(record->name, std::string_view(cast<KernelOpInterface>(op).getKernelCall().name())) << "model." << name;
    }
  });
}

TEST_F(OpCoverage, ASpecEntryWithAnExample) {
  std::string spec = readText(source / "docs/spec/model.md"), examples;
  std::regex fence("```mlir\n([^`]*)```");
  for (std::sregex_iterator it(spec.begin(), spec.end(), fence), end; it != end; ++it)
    examples += (*it)[1].str();
  for (const std::string &op : ops) {
    EXPECT_NE(spec.find("### `model." + op + "`"), std::string::npos)
        << "model." << op << " has no entry in docs/spec/model.md";
    EXPECT_TRUE(hasOp(examples, op)) << "model." << op << " has no example in docs/spec/model.md";
  }
}

TEST_F(OpCoverage, RulesAsIR) {
  std::string rules = testsNamed("sharding-rules"), costs = testsNamed("cost"), derivatives = testsNamed("derivative"),
              decompositions = testsNamed("decompose");
  forComputing([&](const std::string &name, Operation *op) {
    EXPECT_TRUE(hasOp(rules, name)) << "model." << name << " is not in test/dialect/model/sharding-rules*.mlir";
    EXPECT_TRUE(hasOp(costs, name)) << "model." << name << " is not in test/dialect/model/cost*.mlir";
    if (isDifferentiable(op)) {
      EXPECT_TRUE(hasOp(derivatives, name)) << "model." << name << " is not in test/dialect/model/derivative*.mlir";
    }
    if (isa<DecomposeOpInterface>(op)) {
      EXPECT_TRUE(hasOp(decompositions, name)) << "model." << name << " is not in test/dialect/model/decompose*.mlir";
    }
  });
}

TEST_F(OpCoverage, ARowOfPyTorchSamples) {
  const std::string index = readText(source / "test/reference/samples/index.json");
  for (const std::string &op : ops)
    EXPECT_NE(index.find("\n \"" + op + "\": {"), std::string::npos)
        << "model." << op << " has no row in test/reference/samples/index.json: op_sample_rules.py has no rule for it";
}

// Programs of the numeric tests name their ops in quotes.
TEST_F(OpCoverage, NumbersAndDerivatives) {
  auto numeric = [](const char *file) { return readText(source / "test/numeric" / file); };
  auto isNamed = [](const std::string &text, const std::string &op) {
    return std::regex_search(text, std::regex("\"" + op + "[\" ]"));
  };
  std::string reference = numeric("OpPrograms.cpp") + numeric("ImagePrograms.cpp"), vjps = numeric("VjpCases.cpp");
  // The ops of the derivatives of tested ops are tested with them.
  std::set<std::string> ofDerivatives;
  SmallVector<std::pair<std::string, Operation *>> differentiable;
  forComputing([&](const std::string &name, Operation *op) {
    if (isDifferentiable(op) && isNamed(vjps, name))
      differentiable.push_back({name, op});
  });
  for (auto [name, op] : differentiable) {
    ImplicitLocOpBuilder builder(op->getLoc(), op->getContext());
    builder.setInsertionPointAfter(op);
    SmallVector<Value> cotangents(op->getNumResults());
    cotangents[0] = ConstantOp::create(builder, op->getResult(0).getType(), builder.getF64FloatAttr(1));
    FailureOr<SmallVector<Value>> gradients = cast<VjpOpInterface>(op).buildVjp(builder, cotangents);
    ASSERT_TRUE(succeeded(gradients));
    for (Value gradient : *gradients)
      if (gradient)
        ofDerivatives.insert(gradient.getDefiningOp()->getName().stripDialect().str());
  }
  forComputing([&](const std::string &name, Operation *op) {
    if (removed.count(name))
      return;
    auto elsewhere = testedByKernel.find(name);
    bool byKernel =
        elsewhere != testedByKernel.end() && isNamed(readText(source / "test/unit/kernel" / elsewhere->second), name);
    EXPECT_TRUE(isNamed(reference, name) || ofDerivatives.count(name) || byKernel ||
                (isNamed(vjps, name) && (isa<DecomposeOpInterface>(op) || isDifferentiable(op))))
        << "model." << name << " has no test of its values";
    if (isDifferentiable(op) && !withoutDifferences.count(name)) {
      EXPECT_TRUE(isNamed(vjps, name)) << "model." << name << " has no case in test/numeric/VjpCases.cpp";
    }
  });
}

} // namespace
} // namespace sluice::model::test
