//===- AccumulateInLaunches.cpp - plan-accumulate-in-launches ----------------------===//
//
// Replaces a launch and the accumulation of its results, or their addition to another value, by a launch that adds to
// the sums. The record of the kernel states the results that it can add.
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

KernelAddition additionOf(LaunchOp launch) { return findKernelRecord(launch.getKernel())->addition; }

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
using Buffers = llvm::DenseSet<StringAttr>;
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

/// The same of a launch without sums, which adds to the memory of the sum: the bits are those of a separate addition,
/// or a chunked loss adds each chunk.
const OperandRecord *inPlaceSumOf(LaunchOp launch, int64_t output, DType type) {
  const KernelRecord *record = findKernelRecord(launch.getKernel());
  const OperandRecord *input = sumOf(launch, output, type);
  const bool isInPlace =
      input && llvm::any_of(record->mustAlias, [&](const AliasRecord &pair) { return pair.input == input->name; });
  const bool hasSum = llvm::any_of(record->sums, [&](const AliasRecord &sum) { return isSet(launch, sum.input); });
  return isInPlace && !hasSum ? input : nullptr;
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

/// A value that only one launch writes, whole, and only one later launch reads.
struct Computed {
  LaunchOp launch;
  int64_t position = 0, output = 0;
  ViewAttr view;
};
std::optional<Computed> computedFor(LaunchOp reader, ViewAttr value, const BufferUses &uses, SymbolTable &symbols) {
  const auto &found = uses.find(value.getBuffer().getAttr())->second;
  auto buffer = symbols.lookup<BufferOp>(value.getBuffer().getAttr());
  if (found.size() != 2 || !found[0].writes || found[1].op != reader || !buffer.getEntry() || buffer.getCarried())
    return std::nullopt;
  auto launch = dyn_cast<LaunchOp>(found[0].op);
  const ViewAttr written = found[0].view;
  if (!launch || launch->getBlock() != reader->getBlock() || streamOf(launch) != streamOf(reader) ||
      whenOf(launch) != whenOf(reader) || !isSameRange(written, value))
    return std::nullopt;
  return Computed{launch, found[0].position, llvm::find(launch.getOutputs(), written) - launch.getOutputs().begin(),
                  written};
}

/// The launch adds to a sum, which is its result `output`.
void addTo(LaunchOp launch, const OperandRecord &sum, int64_t output, ViewAttr target, int64_t id) {
  Builder builder(launch.getContext());
  NamedAttrList settings(launch.getSettings());
  SmallVector<Attribute> inputs(launch.getInputs().begin(), launch.getInputs().end());
  SmallVector<int64_t> values(launch.getInputValues()), mayAlias(launch.getMayAlias());
  values.resize(inputs.size());
  settings.set(sum.given, builder.getI64IntegerAttr(1));
  mayAlias.append({static_cast<int64_t>(inputs.size()), output});
  inputs.push_back(target);
  values.push_back(id);
  const auto elements = static_cast<std::uint64_t>(target.elements());
  const std::uint64_t bytes = elements * ViewAttr::elementBytes(target.getElementType());
  if (findKernelRecord(launch.getKernel())->addsToRows) {
    launch.setTraffic(launch.getTraffic() - std::min<std::uint64_t>(launch.getTraffic(), bytes));
  } else {
    launch.setFlops(launch.getFlops() + elements);
    launch.setTraffic(launch.getTraffic() + bytes);
  }
  launch.setSettingsAttr(settings.getDictionary(launch.getContext()));
  launch.setInputsAttr(builder.getArrayAttr(inputs));
  launch.setInputValues(values);
  launch.setMayAlias(mayAlias);
}

void setOutput(LaunchOp launch, int64_t output, ViewAttr view) {
  SmallVector<Attribute> outputs(launch.getOutputs().begin(), launch.getOutputs().end());
  outputs[output] = view;
  launch.setOutputsAttr(ArrayAttr::get(launch.getContext(), outputs));
}

struct AccumulateInLaunches : sluice::impl::AccumulateInLaunchesBase<AccumulateInLaunches> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto entry : getOperation().getOps<EntryOp>()) {
      SmallVector<LaunchOp> additions;
      entry.walk([&](LaunchOp op) {
        if (additionOf(op) == KernelAddition::ofValues)
          additions.push_back(op);
      });
      BufferUses uses = usesOf(entry);
      Buffers changed;
      for (LaunchOp add : additions)
        addInLaunch(add, uses, symbols, changed);
      if (!changed.empty())
        uses = usesOf(entry);
      Terms terms;
      entry.walk([&](LaunchOp op) {
        if (additionOf(op) == KernelAddition::inPlace && isSet(op, "first"))
          findTerm(op, uses, symbols, terms);
      });
      for (auto &[launch, of] : terms)
        addToSums(launch, of, symbols);
    }
  }

  /// Of two values that are only added: the launch of the later one adds to the earlier one, which is computed in the
  /// memory of the sum. Inserts the buffers whose uses it changes.
  static void addInLaunch(LaunchOp add, const BufferUses &uses, SymbolTable &symbols, Buffers &changed) {
    // Of an addition that the program does not have, the checker cannot tell whether a value counts twice.
    if (add.getOutputValues().empty() || add.getOutputValues()[0] == 0)
      return;
    const auto sum = cast<ViewAttr>(add.getOutputs()[0]);
    const StringAttr buffers[] = {cast<ViewAttr>(add.getInputs()[0]).getBuffer().getAttr(),
                                  cast<ViewAttr>(add.getInputs()[1]).getBuffer().getAttr(), sum.getBuffer().getAttr()};
    if (llvm::any_of(buffers, [&](StringAttr buffer) { return changed.contains(buffer); }))
      return;
    std::optional<Computed> values[2];
    for (unsigned side = 0; side < 2; ++side) {
      const auto view = cast<ViewAttr>(add.getInputs()[side]);
      values[side] = computedFor(add, view, uses, symbols);
      if (!values[side] || view.getElementType() != sum.getElementType() || view.getShape() != sum.getShape())
        return;
    }
    const unsigned later = values[0]->position < values[1]->position ? 1 : 0;
    const Computed &before = *values[1 - later], &term = *values[later];
    const OperandRecord *input =
        before.launch == term.launch ? nullptr : inPlaceSumOf(term.launch, term.output, dtypeOf(sum.getElementType()));
    const ViewAttr first = reshaped(sum, before.view.getShape()), target = reshaped(sum, term.view.getShape());
    const auto &ofSum = uses.find(sum.getBuffer().getAttr())->second;
    const int64_t end = uses.find(term.view.getBuffer().getAttr())->second[1].position;
    if (!input || !first || !target || !windowIsFree(ofSum, sum, target, before.position, end))
      return;
    const auto idOf = [](ArrayRef<int64_t> ids, unsigned index) { return index < ids.size() ? ids[index] : 0; };
    changed.insert_range(buffers);
    symbols.erase(symbols.lookup(before.view.getBuffer().getAttr()));
    symbols.erase(symbols.lookup(term.view.getBuffer().getAttr()));
    LaunchOp adding = term.launch;
    setOutput(before.launch, before.output, first);
    setOutput(adding, term.output, target);
    addTo(adding, *input, term.output, target, idOf(add.getInputValues(), 1 - later));
    SmallVector<int64_t> results(adding.getOutputValues());
    results.resize(adding.getOutputs().size());
    results[term.output] = idOf(add.getOutputValues(), 0);
    adding.setOutputValues(results);
    add.erase();
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
    if (!launch || !later || later.getKernel() != begin.getKernel() || later.getInputs() != begin.getInputs() ||
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
    for (const Term &term : terms) {
      symbols.erase(symbols.lookup(cast<ViewAttr>(launch.getOutputs()[term.output]).getBuffer().getAttr()));
      setOutput(launch, term.output, term.target);
    }
    auto adding = cast<LaunchOp>(launch->clone());
    launch->getBlock()->getOperations().insertAfter(launch->getIterator(), adding);
    launch.setWhen(whenOf(terms[0].begin));
    adding.setWhen(whenOf(terms[0].later));
    for (const Term &term : terms) {
      addTo(adding, *term.sum, term.output, term.target, /*id=*/0);
      term.begin->erase();
      term.later->erase();
    }
  }
};

} // namespace
