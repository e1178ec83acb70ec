//===- ReuseInPlace.cpp - plan-reuse-in-place ---------------------------------------===//
#include "passes/memory/Passes.h"

#include "dialect/plan/Accesses.h"

namespace sluice {
#define GEN_PASS_DEF_REUSEINPLACE
#include "passes/memory/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::plan_ir;

namespace {

/// First and last access of a buffer, in order of issue; `others`: on another stream than compute.
struct Span {
  int64_t first = 0, last = 0;
  bool isShared = false;
  llvm::SmallVector<Operation *> users;
};
using Spans = llvm::DenseMap<StringAttr, Span>;

/// The launch before, if each repetition has one of the two, with the same outputs: one that begins a sum, and one that
/// adds to it. Null otherwise.
LaunchOp alternativeOf(Operation *op) {
  auto launch = dyn_cast<LaunchOp>(op), other = dyn_cast_or_null<LaunchOp>(op->getPrevNode());
  if (!launch || !other || launch.getKernel() != other.getKernel() || launch.getOutputs() != other.getOutputs() ||
      !launch.getWhen() || !other.getWhen())
    return {};
  const When one = whenOf(other), next = whenOf(launch);
  if (one == When(WhenKind::first) && next == When(WhenKind::not_first))
    return other;
  const int64_t repeat = launch->getParentOfType<SectionOp>().getRepeat();
  const bool isOne = llvm::all_of(llvm::seq<int64_t>(0, repeat), [&](int64_t repetition) {
    return one.includes(repetition, repeat) != next.includes(repetition, repeat);
  });
  return isOne ? other : LaunchOp();
}

/// Calls visit(instruction, position); alternatives have one position.
void forEachPosition(EntryOp entry, llvm::function_ref<void(Operation *, int64_t)> visit) {
  forEachInstruction(
      entry, [&](Operation *op, int64_t position, SectionOp) { visit(op, position - (alternativeOf(op) ? 1 : 0)); });
}

Spans spansOf(EntryOp entry, const Streams &streams) {
  Spans spans;
  forEachPosition(entry, [&](Operation *op, int64_t position) {
    for (const Access &access : accessesOf(op)) {
      Span &span = spans[access.view.getBuffer().getAttr()];
      if (span.users.empty())
        span.first = position;
      span.last = position;
      const std::optional<StreamKind> stream = streams.kindOf(op);
      span.isShared |= isa<CollectiveOp>(op) || (stream && stream != StreamKind::compute && stream != StreamKind::host);
      if (span.users.empty() || span.users.back() != op)
        span.users.push_back(op);
    }
  });
  return spans;
}

bool coversBuffer(ViewAttr view, BufferOp buffer) {
  return view.getOffset() == 0 && view.isDense() && view.spanBytes() == int64_t(buffer.getBytes());
}

/// True if the windows have their elements at the same places, in buffers of one size.
bool areAlike(ViewAttr from, BufferOp old, ViewAttr to, BufferOp next) {
  const bool isSameWindow =
      from.getOffset() == to.getOffset() && from.getShape() == to.getShape() && from.getStrides() == to.getStrides();
  return old.getBytes() == next.getBytes() && (isSameWindow || (coversBuffer(from, old) && coversBuffer(to, next)));
}

/// The class in the memory account of a buffer that replaces buffers of these two classes.
BufferClass mergedClass(BufferClass a, BufferClass b) {
  for (BufferClass heavy : {BufferClass::gradient, BufferClass::activation, BufferClass::communication})
    if (a == heavy || b == heavy)
      return heavy;
  return a;
}

struct ReuseInPlace : sluice::impl::ReuseInPlaceBase<ReuseInPlace> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    const Streams streams(module);
    for (auto entry : module.getOps<EntryOp>()) {
      Spans spans = spansOf(entry, streams);
      forEachPosition(entry, [&](Operation *op, int64_t position) {
        if (auto launch = dyn_cast<LaunchOp>(op))
          for (size_t pair = 0; pair + 1 < launch.getMayAlias().size(); pair += 2)
            if (join(launch, launch.getMayAlias()[pair], launch.getMayAlias()[pair + 1], position, spans, symbols))
              break;
      });
    }
  }

  static bool join(LaunchOp launch, int64_t input, int64_t output, int64_t position, Spans &spans,
                   SymbolTable &symbols) {
    auto from = cast<ViewAttr>(launch.getInputs()[input]);
    auto to = cast<ViewAttr>(launch.getOutputs()[output]);
    if (from.getBuffer() == to.getBuffer())
      return false;
    auto old = symbols.lookup<BufferOp>(from.getBuffer().getAttr());
    auto next = symbols.lookup<BufferOp>(to.getBuffer().getAttr());
    Span &before = spans[old.getSymNameAttr()];
    Span &after = spans[next.getSymNameAttr()];
    if (!old.getEntry() || !next.getEntry() || old.getCarried() || next.getCarried() || before.isShared ||
        old.getSpace() != next.getSpace() || old.getBufferClass() == BufferClass::gathered ||
        next.getBufferClass() == BufferClass::gathered || !areAlike(from, old, to, next) || before.last != position ||
        after.first != position || from.getElementType() != to.getElementType())
      return false;
    // Another operand that is a window of the same memory would change while the kernel runs.
    for (auto [index, view] : llvm::enumerate(launch.getInputs().getAsRange<ViewAttr>()))
      if (int64_t(index) != input && view.getBuffer() == from.getBuffer())
        return false;
    // A write in one repetition must not overwrite a value of another. Alternatives write in all repetitions.
    Operation *following = launch->getNextNode();
    const When when = following && alternativeOf(following) == launch ? When() : whenOf(launch);
    if (before.users.front()->getParentOp() != launch->getParentOp() || whenOf(before.users.front()) != when)
      return false;
    old.setBufferClass(mergedClass(old.getBufferClass(), next.getBufferClass()));
    const FlatSymbolRefAttr symbol = FlatSymbolRefAttr::get(old.getSymNameAttr());
    for (Operation *user : after.users)
      replaceViews(user, [&](ViewAttr view) {
        return view.getBuffer() == to.getBuffer() ? view.onBuffer(symbol, view.getOffset()) : view;
      });
    before.last = after.last;
    before.isShared |= after.isShared;
    for (Operation *user : after.users)
      if (before.users.back() != user)
        before.users.push_back(user);
    symbols.erase(next);
    return true;
  }
};

} // namespace
