//===- Accesses.cpp - memory accesses of instructions -------------------------------===//
#include "dialect/plan/Accesses.h"

#include "llvm/ADT/TypeSwitch.h"

#include <set>

using namespace mlir;

namespace sluice::plan_ir {
namespace {

void append(llvm::SmallVector<Access> &accesses, ArrayAttr views, bool writes) {
  for (ViewAttr view : views.getAsRange<ViewAttr>())
    accesses.push_back({view, writes});
}

/// An attribute that all instructions have, by its accessor: a search by name compares strings.
template <typename Attr, typename Get> Attr commonAttribute(Operation *op, Get get) {
  return llvm::TypeSwitch<Operation *, Attr>(op)
      .template Case<LaunchOp, CollectiveOp, RecordOp, WaitOp, ReleaseOp, CopyOp, FillOp, AwaitOp>(get)
      .Default(Attr());
}

} // namespace

llvm::SmallVector<Access> accessesOf(Operation *instruction) {
  llvm::SmallVector<Access> accesses;
  llvm::TypeSwitch<Operation *>(instruction)
      .Case([&](LaunchOp op) {
        append(accesses, op.getInputs(), false);
        append(accesses, op.getOutputs(), true);
      })
      .Case([&](CollectiveOp op) {
        append(accesses, op.getSources(), false);
        append(accesses, op.getDestinations(), true);
      })
      .Case([&](CopyOp op) {
        accesses.push_back({op.getSource(), false});
        accesses.push_back({op.getDestination(), true});
      })
      .Case([&](FillOp op) { accesses.push_back({op.getDestination(), true}); });
  return accesses;
}

void forEachInstruction(EntryOp entry, llvm::function_ref<void(Operation *, int64_t, SectionOp)> visit) {
  int64_t i = 0;
  for (auto section : entry.getBody().getOps<SectionOp>())
    for (Operation &op : llvm::make_early_inc_range(section.getBody().front()))
      visit(&op, i++, section);
}

void replaceViews(Operation *instruction, llvm::function_ref<ViewAttr(ViewAttr)> change) {
  const auto changed = [&](ArrayAttr views) {
    return ArrayAttr::get(
        views.getContext(),
        llvm::map_to_vector(views.getAsRange<ViewAttr>(), [&](ViewAttr view) -> Attribute { return change(view); }));
  };
  llvm::TypeSwitch<Operation *>(instruction)
      .Case([&](LaunchOp op) {
        op.setInputsAttr(changed(op.getInputs()));
        op.setOutputsAttr(changed(op.getOutputs()));
      })
      .Case([&](CollectiveOp op) {
        op.setSourcesAttr(changed(op.getSources()));
        op.setDestinationsAttr(changed(op.getDestinations()));
      })
      .Case([&](CopyOp op) {
        op.setSourceAttr(change(op.getSource()));
        op.setDestinationAttr(change(op.getDestination()));
      })
      .Case([&](FillOp op) { op.setDestinationAttr(change(op.getDestination())); });
}

Streams::Streams(ModuleOp module) {
  for (auto stream : module.getOps<StreamOp>()) {
    kinds.try_emplace(stream.getName(), stream.getKind());
    byKind.try_emplace(stream.getKind(), FlatSymbolRefAttr::get(stream.getNameAttr()));
  }
}

std::optional<StreamKind> Streams::kindOf(llvm::StringRef stream) const {
  const auto found = kinds.find(stream);
  return found == kinds.end() ? std::nullopt : std::optional(found->second);
}

std::optional<StreamKind> Streams::kindOf(Operation *instruction) const { return kindOf(streamOf(instruction)); }

llvm::StringRef streamOf(Operation *instruction) {
  auto stream = commonAttribute<FlatSymbolRefAttr>(instruction, [](auto op) { return op.getStreamAttr(); });
  return stream ? stream.getValue() : llvm::StringRef();
}

Phase phaseOf(Operation *instruction) {
  return commonAttribute<PhaseAttr>(instruction, [](auto op) { return op.getPhaseAttr(); }).getValue();
}

When whenOf(Operation *instruction) {
  auto when = commonAttribute<WhenAttr>(instruction, [](auto op) { return op.getWhenAttr(); });
  return when ? when.getValue() : When();
}

bool windowsDisjoint(ViewAttr a, ViewAttr b) {
  if (a.getOffset() + a.spanBytes() <= b.getOffset() || b.getOffset() + b.spanBytes() <= a.getOffset())
    return true;
  if (a.getStrides().empty() || a.getStrides() != b.getStrides() || a.getElementType() != b.getElementType())
    return false;
  // Both start somewhere in one grid: compare them dim by dim, from the outermost stride to the innermost.
  const int64_t bytes = ViewAttr::elementBytes(a.getElementType());
  int64_t startA = a.getOffset() / bytes, startB = b.getOffset() / bytes;
  llvm::SmallVector<size_t> order = llvm::to_vector(llvm::seq<size_t>(0, a.getShape().size()));
  llvm::stable_sort(order, [&](size_t x, size_t y) { return a.getStrides()[x] > a.getStrides()[y]; });
  int64_t outer = 0;
  for (size_t d : order) {
    const int64_t stride = a.getStrides()[d];
    if (stride == 0)
      continue;
    const int64_t inA = startA / stride, inB = startB / stride;
    startA %= stride;
    startB %= stride;
    // Nothing may spill over into the next step of the stride around this one.
    if (outer != 0 && ((inA + a.getShape()[d]) * stride > outer || (inB + b.getShape()[d]) * stride > outer))
      return false;
    if (inA + a.getShape()[d] <= inB || inB + b.getShape()[d] <= inA)
      return true;
    outer = stride;
  }
  return false;
}

llvm::SmallVector<Repetition> repetitionsOf(SectionOp section) {
  const int64_t repeat = section.getRepeat();
  std::set<int64_t> indices = {0, std::min<int64_t>(1, repeat - 1), repeat - 1};
  for (Operation &op : section.getBody().front())
    for (int64_t repetition : whenOf(&op).getRepetitions())
      for (int64_t near : {repetition - 1, repetition, repetition + 1})
        if (near >= 0 && near < repeat)
          indices.insert(near);
  llvm::SmallVector<Repetition> repetitions;
  for (int64_t index : indices)
    repetitions.push_back({index, repeat});
  return repetitions;
}

bool isIssued(Operation *instruction, Repetition repetition) {
  return whenOf(instruction).includes(repetition.index, repetition.repeat);
}

} // namespace sluice::plan_ir
