//===- VerifySpmd.cpp - what holds when the sharding phase ends ----------------------------------===//
//
// All errors are reported, not the first alone.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "dialect/spmd/Spaces.h"
#include "passes/sharding/Placement.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {
#define GEN_PASS_DEF_VERIFYSPMD
#include "passes/sharding/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;

namespace {

class Verifier {
public:
  explicit Verifier(ModuleOp module) : module(module), placement(module) {}

  bool run() {
    if (!placement.mesh()) {
      error(module) << "mesh, expected one but got none";
      return false;
    }
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr(model::entryName))
        verify(function);
    return good;
  }

private:
  InFlightDiagnostic error(Operation *op) {
    good = false;
    return op->emitError();
  }
  void verify(func::FuncOp function);
  void verifyArguments(func::FuncOp function);
  void verifySection(spmd::SectionOp section);
  void verifyAccumulation(spmd::SectionOp section);
  void verifyReleases(spmd::SectionOp section);
  void verifySpaces(spmd::SectionOp section);

  ModuleOp module;
  Placement placement;
  bool good = true;
};

} // namespace

void Verifier::verify(func::FuncOp function) {
  verifyArguments(function);
  for (Operation &op : function.front().without_terminator()) {
    if (auto section = dyn_cast<spmd::SectionOp>(op))
      verifySection(section);
    else
      error(&op) << "op of entry point @" << function.getSymName() << ", expected spmd.section but got "
                 << op.getName();
  }
}

/// Shards cover their parameters; a result that takes over an argument's memory has its type.
void Verifier::verifyArguments(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<FlatSymbolRefAttr>(i, spmd::parameterName);
    if (!name)
      continue;
    model::ParameterOp parameter = placement.find(name.getValue());
    if (!parameter) {
      error(function) << "argument " << i << ", expected a shard of a parameter of the module but got one of " << name;
      continue;
    }
    auto type = cast<RankedTensorType>(function.getArgument(i).getType());
    bool ofState = function.getArgAttr(i, spmd::stateName) != nullptr;
    RankedTensorType expected = ofState ? placement.local(name.getValue(), spmd::globalType(type))
                                        : placement.local(name.getValue(), parameter.getType());
    if (type != expected)
      error(function) << "shard of @" << name.getValue() << ", expected " << expected << " but got " << type;
  }
  llvm::SmallDenseSet<std::int64_t> donated;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto from = function.getResultAttrOfType<IntegerAttr>(i, spmd::donatesName);
    if (!from)
      continue;
    if (from.getInt() < 0 || from.getInt() >= function.getNumArguments() || !donated.insert(from.getInt()).second)
      error(function) << "donated argument of result " << i << ", expected one that no other result takes but got "
                      << from.getInt();
    else if (function.getResultTypes()[i] != function.getArgumentTypes()[from.getInt()])
      error(function) << "result " << i << ", expected the donated argument's type "
                      << function.getArgumentTypes()[from.getInt()] << " but got " << function.getResultTypes()[i];
  }
}

void Verifier::verifySection(spmd::SectionOp section) {
  for (Operation &op : section.getBody().front()) {
    if (isa<model::ReadOp, model::WriteOp, model::GradientOp, model::StepMeanOp, model::BlockOp, model::CheckpointOp,
            model::RecomputeOp, UnrealizedConversionCastOp, spmd::ReshardOp>(op))
      error(&op) << "op behind the sharding phase, expected none of whole parameters and gradients but got "
                 << op.getName();
    if (op.getNumResults() == 1 && isa<spmd::TokenType>(op.getResult(0).getType()) && !op.hasOneUse())
      error(&op) << "waits for a collective, expected one but got "
                 << std::distance(op.getUsers().begin(), op.getUsers().end());
    auto start = dyn_cast<spmd::CollectiveOpInterface>(op);
    if (!start || start.isCopy())
      continue;
    for (Attribute axis : start.getAxes())
      if (spmd::axisSize(placement.mesh(), cast<StringAttr>(axis).getValue()) == 1)
        error(&op) << "axis of a collective, expected one of several ranks but got " << axis << " of one rank";
  }
  verifyAccumulation(section);
  verifyReleases(section);
  verifySpaces(section);
}

/// True for a sum over the repetitions of its section, or a value that collectives, copies and ops of one operand
/// compute from one.
static bool isAccumulated(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<spmd::AccumulateOp>(op))
      return true;
    if (auto wait = dyn_cast<spmd::WaitOp>(op))
      value = wait.getStart()->getOperand(cast<OpResult>(value).getResultNumber());
    else if (op->getNumOperands() == 1)
      value = op->getOperand(0);
    else
      return false;
  }
  return false;
}

/// What the update reads of a repeated section is of all repetitions.
void Verifier::verifyAccumulation(spmd::SectionOp section) {
  if (section.getRepeat() == 1)
    return;
  auto yield = cast<spmd::YieldOp>(section.getBody().front().getTerminator());
  for (auto [result, yielded] : llvm::zip(section.getResults(), yield.getOperands())) {
    bool isRead = llvm::any_of(result.getUsers(), [&](Operation *user) {
      auto reader = user->getParentOfType<spmd::SectionOp>();
      return reader && reader != section;
    });
    if (!isRead || isAccumulated(yielded))
      continue;
    InFlightDiagnostic diagnostic = error(section);
    diagnostic << "result " << result.getResultNumber() << " of repeated section '" << section.getName()
               << "' is read by another section but not accumulated over the repetitions";
    diagnostic.attachNote(yielded.getLoc()) << "computed here; spmd-accumulate-gradients accumulates it";
  }
}

/// What runs on the host reads host memory, all else the device's; copies alone cross.
void Verifier::verifySpaces(spmd::SectionOp section) {
  for (Operation &op : section.getBody().front()) {
    auto start = dyn_cast<spmd::CollectiveOpInterface>(op);
    if (isa<spmd::WaitOp, spmd::YieldOp>(op) || (start && start.isCopy()))
      continue;
    bool onHost = spmd::streamOf(&op) == StreamKind::host;
    for (Value operand : op.getOperands())
      if (spmd::isInHost(operand) != onHost) {
        error(&op) << "operand, expected one in the memory of the " << (onHost ? "host" : "device") << " but got "
                   << operand.getType() << " in the other";
        break;
      }
  }
}

/// Nothing reads a gathered value behind its release, by a view either, and every gathered value is released.
void Verifier::verifyReleases(spmd::SectionOp section) {
  // The release of a value or of what it is a view of.
  llvm::DenseMap<Value, spmd::ReleaseOp> released;
  llvm::DenseMap<Value, Value> viewed;
  auto source = [&](Value value) {
    while (Value of = viewed.lookup(value))
      value = of;
    return value;
  };
  for (Operation &op : section.getBody().front()) {
    for (Value operand : op.getOperands())
      if (auto release = released.lookup(source(operand))) {
        InFlightDiagnostic diagnostic = error(&op);
        diagnostic << "operand, expected one that is not read behind its release but got " << operand.getType();
        diagnostic.attachNote(release.getLoc()) << "released here";
        break;
      }
    if (auto release = dyn_cast<spmd::ReleaseOp>(op))
      for (Value value : release.getValues())
        released[value] = release;
    if (isa<ViewOpInterface>(op))
      for (Value result : op.getResults())
        viewed[result] = op.getOperand(0);
  }
  for (auto wait : section.getBody().front().getOps<spmd::WaitOp>())
    if (wait.getStart().isUnshard() && !spmd::unitOf(wait.getStart()).empty())
      for (Value value : wait.getValues())
        if (!released.contains(value)) {
          error(wait) << "gathered value, expected a release before the section ends but got none";
          break;
        }
}

namespace {

struct VerifySpmd : sluice::impl::VerifySpmdBase<VerifySpmd> {
  void runOnOperation() override {
    if (!Verifier(getOperation()).run())
      signalPassFailure();
  }
};

} // namespace
