//===- AccumulateInLaunches.cpp - plan-accumulate-in-launches ----------------------===//
//
// Replaces a launch and the accumulation of its results by a launch that adds to the sums. The record of the kernel
// states the results that it can add.
//
//===----------------------------------------------------------------------===//
#include "passes/schedule/Passes.h"

#include "dialect/plan/Accesses.h"
#include "dialect/rules/KernelCall.h"
#include "passes/schedule/BufferUses.h"

#include "llvm/ADT/MapVector.h"

namespace sluice {
#define GEN_PASS_DEF_ACCUMULATEINLAUNCHES
#include "passes/schedule/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::plan_ir;

namespace {

bool isSet(LaunchOp launch, llvm::StringRef flag) {
  auto setting = launch.getSettings().getAs<IntegerAttr>(flag);
  return setting && !setting.getValue().isZero();
}

/// A result of a launch that is only accumulated.
struct Term {
  /// The result, and the kernel's input for its sum.
  int64_t output = 0;
  const OperandRecord *sum = nullptr;
  /// The accumulations in the repetitions in which the sum begins, and in the others.
  LaunchOp begin, later;
  /// The sum, in the shape of the result.
  ViewAttr target;
};
using Terms = llvm::MapVector<LaunchOp, llvm::SmallVector<Term, 2>>;

/// The input that the launch of this kernel adds to its result `output`; null if it cannot, or has one.
const OperandRecord *sumOf(LaunchOp launch, int64_t output, DType type) {
  const KernelRecord *record = findKernelRecord(launch.getKernel());
  for (const AliasRecord &sum : record->sums) {
    const auto input = llvm::find_if(record->inputs, [&](const OperandRecord &of) { return of.name == sum.input; });
    if (record->outputs.begin()[output].name == sum.output && input->dtypes.has(type) && !isSet(launch, sum.input))
      return input;
  }
  return nullptr;
}

/// True if each repetition of the launch is in the sum, once.
bool isSummedOnce(LaunchOp launch, LaunchOp begin, LaunchOp later) {
  const When all = whenOf(launch), first = whenOf(begin), next = whenOf(later);
  if (all.isAll() && first == When(WhenKind::first) && next == When(WhenKind::not_first))
    return true;
  const int64_t repeat = launch->getParentOfType<SectionOp>().getRepeat();
  return llvm::all_of(llvm::seq<int64_t>(0, repeat), [&](int64_t repetition) {
    return all.includes(repetition, repeat) ==
           (first.includes(repetition, repeat) != next.includes(repetition, repeat));
  });
}

struct AccumulateInLaunches : sluice::impl::AccumulateInLaunchesBase<AccumulateInLaunches> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto entry : getOperation().getOps<EntryOp>()) {
      const BufferUses uses = usesOf(entry);
      Terms terms;
      entry.walk([&](LaunchOp op) {
        if (op.getKernel() == "accumulate" && isSet(op, "first"))
          findTerm(op, uses, symbols, terms);
      });
      for (auto &[launch, of] : terms)
        addToSums(launch, of, symbols);
    }
  }

  static void findTerm(LaunchOp begin, const BufferUses &uses, SymbolTable &symbols, Terms &terms) {
    auto source = cast<ViewAttr>(begin.getInputs()[0]);
    auto sum = cast<ViewAttr>(begin.getOutputs()[0]);
    const auto &ofSource = uses.find(source.getBuffer().getAttr())->second;
    auto buffer = symbols.lookup<BufferOp>(source.getBuffer().getAttr());
    if (ofSource.size() != 3 || !ofSource[0].writes || ofSource[1].op != begin || !buffer.getEntry() ||
        buffer.getCarried())
      return;
    auto launch = dyn_cast<LaunchOp>(ofSource[0].op), later = dyn_cast<LaunchOp>(ofSource[2].op);
    const ViewAttr written = ofSource[0].view;
    if (!launch || !later || later.getKernel() != "accumulate" || later.getInputs() != begin.getInputs() ||
        later.getOutputs() != begin.getOutputs() || launch->getBlock() != begin->getBlock() ||
        launch->getBlock() != later->getBlock() || streamOf(launch) != streamOf(begin) ||
        !isSameRange(written, source) || source.getElementType() != sum.getElementType() ||
        !isSummedOnce(launch, begin, later))
      return;
    const int64_t output = llvm::find(launch.getOutputs(), written) - launch.getOutputs().begin();
    const OperandRecord *input = sumOf(launch, output, dtypeOf(sum.getElementType()));
    const ViewAttr target = reshaped(sum, written.getShape());
    const auto &ofSum = uses.find(sum.getBuffer().getAttr())->second;
    auto &others = terms[launch];
    if (!input || !target || !windowIsFree(ofSum, sum, target, ofSource[0].position, ofSource[1].position) ||
        !windowIsFree(ofSum, sum, target, ofSource[1].position + 1, ofSource[2].position) ||
        (!others.empty() && (whenOf(others[0].begin) != whenOf(begin) || whenOf(others[0].later) != whenOf(later))))
      return;
    others.push_back({output, input, begin, later, target});
  }

  /// Two launches, one of which each repetition has.
  static void addToSums(LaunchOp launch, llvm::MutableArrayRef<Term> terms, SymbolTable &symbols) {
    if (terms.empty())
      return;
    // The order of the kernel's inputs.
    llvm::sort(terms, [](const Term &a, const Term &b) { return a.sum < b.sum; });
    Builder builder(launch.getContext());
    llvm::SmallVector<Attribute> outputs(launch.getOutputs().begin(), launch.getOutputs().end());
    for (const Term &term : terms) {
      symbols.erase(symbols.lookup(cast<ViewAttr>(outputs[term.output]).getBuffer().getAttr()));
      outputs[term.output] = term.target;
    }
    launch.setOutputsAttr(builder.getArrayAttr(outputs));
    auto adding = cast<LaunchOp>(launch->clone());
    launch->getBlock()->getOperations().insertAfter(launch->getIterator(), adding);
    launch.setWhen(whenOf(terms[0].begin));
    adding.setWhen(whenOf(terms[0].later));
    NamedAttrList settings(adding.getSettings());
    llvm::SmallVector<Attribute> inputs(adding.getInputs().begin(), adding.getInputs().end());
    llvm::SmallVector<int64_t> values(adding.getInputValues()), mayAlias(adding.getMayAlias());
    values.resize(inputs.size() + terms.size());
    for (const Term &term : terms) {
      settings.set(term.sum->given, builder.getI64IntegerAttr(1));
      mayAlias.append({static_cast<int64_t>(inputs.size()), term.output});
      inputs.push_back(term.target);
      const auto elements = static_cast<std::uint64_t>(term.target.elements());
      adding.setFlops(adding.getFlops() + elements);
      adding.setTraffic(adding.getTraffic() + elements * ViewAttr::elementBytes(term.target.getElementType()));
      term.begin->erase();
      term.later->erase();
    }
    adding.setSettingsAttr(settings.getDictionary(adding.getContext()));
    adding.setInputsAttr(builder.getArrayAttr(inputs));
    adding.setInputValues(values);
    adding.setMayAlias(mayAlias);
  }
};

} // namespace
