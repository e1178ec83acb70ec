//===- VerifySpmd.cpp - the invariants at the end of the sharding phase -----------------------------===//
//
// All errors are reported, not only the first.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/Passes.h"

#include "dialect/model/Attributes.h"
#include "dialect/spmd/Names.h"
#include "passes/sharding/Placement.h"
#include "passes/sharding/Utils.h"

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
      error(module) << "module has no spmd.mesh";
      return false;
    }
    for (func::FuncOp entry : entriesOf(module))
      verify(entry);
    return isValid;
  }

private:
  InFlightDiagnostic error(Operation *op) {
    isValid = false;
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
  bool isValid = true;
};

} // namespace

void Verifier::verify(func::FuncOp function) {
  verifyArguments(function);
  for (Operation &op : function.front().without_terminator()) {
    if (auto section = dyn_cast<spmd::SectionOp>(op))
      verifySection(section);
    else
      error(&op) << op.getName() << " is outside of the sections of entry point @" << function.getSymName();
  }
}

/// Arguments have the types of shards of their parameters; a result that donates an argument has its type.
void Verifier::verifyArguments(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<FlatSymbolRefAttr>(i, spmd::parameterName);
    if (!name)
      continue;
    model::ParameterOp parameter = placement.find(name.getValue());
    if (!parameter) {
      error(function) << "argument " << i << " is a shard of " << name << ", which is no parameter of the module";
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
    if (from.getInt() < 0 || from.getInt() >= function.getNumArguments())
      error(function) << "result " << i << " donates argument " << from.getInt() << " of "
                      << function.getNumArguments();
    else if (!donated.insert(from.getInt()).second)
      error(function) << "result " << i << " donates argument " << from.getInt() << ", as another result does";
    else if (function.getResultTypes()[i] != function.getArgumentTypes()[from.getInt()])
      error(function) << "result " << i << ", expected the donated argument's type "
                      << function.getArgumentTypes()[from.getInt()] << " but got " << function.getResultTypes()[i];
  }
}

void Verifier::verifySection(spmd::SectionOp section) {
  for (Operation &op : section.getBody().front()) {
    if (isa<model::ReadOp, model::WriteOp, model::GradientOp, model::StepMeanOp, model::BlockOp, model::CheckpointOp,
            model::RecomputeOp, UnrealizedConversionCastOp, spmd::ReshardOp>(op))
      error(&op) << op.getName() << " remains after the sharding phase";
    if (op.getNumResults() == 1 && isa<spmd::TokenType>(op.getResult(0).getType()) && !op.hasOneUse())
      error(&op) << "expected 1 wait for a collective but got "
                 << std::distance(op.getUsers().begin(), op.getUsers().end());
    auto start = dyn_cast<spmd::CollectiveOpInterface>(op);
    if (!start || start.isCopy())
      continue;
    for (Attribute axis : start.getAxes())
      if (spmd::axisSize(placement.mesh(), cast<StringAttr>(axis).getValue()) == 1)
        error(&op) << "collective along axis " << axis << ", which has one rank";
  }
  verifyAccumulation(section);
  verifyReleases(section);
  verifySpaces(section);
}

/// True for a sum over the repetitions of its section, or a value that collectives, copies, ops of one operand and sums
/// compute from such sums.
static bool isAccumulated(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<spmd::AccumulateOp>(op))
      return true;
    if (isa<model::AddOp>(op))
      return llvm::all_of(op->getOperands(), isAccumulated);
    if (auto wait = dyn_cast<spmd::WaitOp>(op))
      value = wait.getStart()->getOperand(cast<OpResult>(value).getResultNumber());
    else if (op->getNumOperands() == 1)
      value = op->getOperand(0);
    else
      return false;
  }
  return false;
}

/// The results of a repeated section that another section reads are accumulated over all repetitions.
void Verifier::verifyAccumulation(spmd::SectionOp section) {
  if (section.getRepeat() == 1)
    return;
  for (auto [result, yielded] : llvm::zip(section.getResults(), section.getYield().getValues())) {
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

/// Ops of the stream `host` read host memory, other ops device memory; only copies read both.
void Verifier::verifySpaces(spmd::SectionOp section) {
  for (Operation &op : section.getBody().front()) {
    auto start = dyn_cast<spmd::CollectiveOpInterface>(op);
    if (isa<spmd::WaitOp, spmd::YieldOp>(op) || (start && start.isCopy()))
      continue;
    bool onHost = spmd::streamOf(&op) == StreamKind::host;
    for (Value operand : op.getOperands())
      if (spmd::isInHost(operand) != onHost) {
        error(&op) << "runs on the " << (onHost ? "host" : "device") << " but reads " << operand.getType() << " in "
                   << (onHost ? "device" : "host") << " memory";
        break;
      }
  }
}

/// No op reads a gathered value, or a view of it, after its release, and every gathered value is released.
void Verifier::verifyReleases(spmd::SectionOp section) {
  llvm::DenseMap<Value, spmd::ReleaseOp> released;
  for (Operation &op : section.getBody().front()) {
    for (Value operand : op.getOperands())
      if (auto release = released.lookup(sourceOfViews(operand))) {
        InFlightDiagnostic diagnostic = error(&op);
        diagnostic << "reads " << operand.getType() << " after its release";
        diagnostic.attachNote(release.getLoc()) << "released here";
        break;
      }
    if (auto release = dyn_cast<spmd::ReleaseOp>(op))
      for (Value value : release.getValues())
        released[value] = release;
  }
  for (auto wait : section.getBody().front().getOps<spmd::WaitOp>())
    if (wait.getStart().isUnshard() && !spmd::unitOf(wait.getStart()).empty())
      for (Value value : wait.getValues())
        if (!released.contains(value)) {
          error(wait) << "gathered value has no release in the section";
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
