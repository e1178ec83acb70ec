//===- ComputeLifespans.cpp - plan-compute-lifespans --------------------------------===//
//
// A buffer is live from its first access until its last one is done, in order of issue on compute. At the start of an
// entry point a stream that waits only for carried records can run early: buffers that it writes are reserved from the
// record on, in the run before. Both follow from StreamOrder.
//
//===----------------------------------------------------------------------===//
#include "passes/memory/Lifespans.h"
#include "passes/memory/Passes.h"

#include "dialect/plan/Accesses.h"
#include "dialect/plan/StreamOrder.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringMap.h"

#include <deque>

namespace sluice {
#define GEN_PASS_DEF_COMPUTELIFESPANS
#include "passes/memory/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::plan_ir;

namespace {

struct Life {
  int64_t begin = -1, end = -1;
  void extend(int64_t from, int64_t to) {
    begin = begin < 0 ? from : std::min(begin, from);
    end = std::max(end, to);
  }
};

struct Numbered {
  Operation *op;
  int64_t at;
};

/// True for the streams whose order of issue lifespans refer to. A reuse of memory of the host's work, on any stream,
/// is ordered after it.
bool isInOrder(std::optional<sluice::StreamKind> stream) {
  return !stream || stream == sluice::StreamKind::compute || stream == sluice::StreamKind::host;
}

/// For each instruction of a section, one past the position at which its accesses are complete: its position on compute
/// and on the host; on other streams, the wait after which compute is ordered after it in every kind of repetition.
llvm::SmallVector<int64_t> completionsOf(SectionOp op, llvm::ArrayRef<Numbered> section, const Streams &streams) {
  const llvm::StringRef compute = streams.nameOf(sluice::StreamKind::compute);
  llvm::SmallVector<int64_t> ends(section.size(), 0);
  for (Repetition repetition : repetitionsOf(op)) {
    StreamOrder order;
    // By stream, in order of issue: instructions that are not yet before compute.
    llvm::StringMap<std::deque<std::pair<StreamOrder::Position, size_t>>> pending;
    for (auto [index, numbered] : llvm::enumerate(section)) {
      if (!isIssued(numbered.op, repetition))
        continue;
      const StreamOrder::Position position = order.issue(numbered.op);
      if (isInOrder(streams.kindOf(numbered.op)))
        ends[index] = numbered.at + 1;
      else if (!isa<RecordOp, WaitOp>(numbered.op))
        pending[streamOf(numbered.op)].emplace_back(position, index);
      if (!isa<WaitOp>(numbered.op) || streams.kindOf(numbered.op) != sluice::StreamKind::compute)
        continue;
      for (auto &entry : pending)
        for (auto &queue = entry.second; !queue.empty() && order.isDoneBefore(queue.front().first, compute);
             queue.pop_front())
          ends[queue.front().second] = std::max(ends[queue.front().second], numbered.at + 1);
    }
    for (auto &entry : pending)
      for (auto [position, index] : entry.second)
        ends[index] = section.back().at + 1;
  }
  return ends;
}

bool isCarried(FlatSymbolRefAttr name, SymbolTable &symbols) {
  auto buffer = symbols.lookup<BufferOp>(name.getAttr());
  return buffer && buffer.getCarried();
}

void visitSection(SectionOp op, llvm::ArrayRef<Numbered> section, const Streams &streams, SymbolTable &symbols,
                  llvm::DenseMap<StringAttr, Life> &lives) {
  if (section.empty())
    return;
  const llvm::SmallVector<int64_t> ends = completionsOf(op, section, streams);
  const int64_t begin = section.front().at;
  // The repetitions in which a buffer has been written: content that is read in another one is from an earlier one.
  const llvm::SmallVector<Repetition> repetitions = repetitionsOf(op);
  llvm::DenseMap<StringAttr, llvm::SmallBitVector> written;
  const auto touch = [&](Operation *user, int64_t at, FlatSymbolRefAttr buffer, bool writes) {
    Life &life = lives[buffer.getAttr()];
    const int64_t end = ends[at - begin];
    if (op.getRepeat() > 1) {
      llvm::SmallBitVector &in = written.try_emplace(buffer.getAttr(), repetitions.size()).first->second;
      const bool wasMadeBefore = life.begin >= 0 && life.begin < begin;
      bool carries = false;
      for (auto [index, repetition] : llvm::enumerate(repetitions))
        if (isIssued(user, repetition)) {
          carries |= !writes && !in.test(index);
          if (writes)
            in.set(index);
        }
      if (wasMadeBefore || carries || isCarried(buffer, symbols))
        life.extend(begin, section.back().at + 1);
    }
    life.extend(at, end);
  };
  // A release is for all parameters of a unit; the buffer of each is free after its last read.
  for (const Numbered &n : section)
    for (const Access &access : accessesOf(n.op))
      touch(n.op, n.at, access.view.getBuffer(), access.writes);
}

/// For each buffer that is written before compute reaches the run: the first position of the run before from which on
/// it may be written.
llvm::DenseMap<StringAttr, int64_t> reservedBefore(EntryOp entry, const Streams &streams) {
  llvm::DenseMap<StringAttr, int64_t> reserved;
  StreamOrder order;
  // By position in the run before.
  std::vector<int64_t> places;
  order.beginRun();
  int64_t begin = 0;
  for (auto section : entry.getBody().getOps<SectionOp>()) {
    Block &body = section.getBody().front();
    for (Repetition repetition : repetitionsOf(section))
      for (auto [index, op] : llvm::enumerate(body))
        if (isIssued(&op, repetition)) {
          order.issue(&op);
          places.push_back(begin + int64_t(index));
        }
    begin += body.getOperations().size();
  }
  // A carried wait alone lets a stream start before compute reaches the run.
  order.beginRun();
  order.clearOrder();
  auto sections = entry.getBody().getOps<SectionOp>();
  if (sections.empty())
    return reserved;
  SectionOp first = *sections.begin();
  for (Operation &op : first.getBody().front()) {
    if (!isIssued(&op, {0, int64_t(first.getRepeat())}))
      continue;
    order.issue(&op);
    const StreamOrder::Position last = order.lastBefore(streamOf(&op), streams.nameOf(sluice::StreamKind::compute));
    if (last == 0 || last > int64_t(places.size()) || isInOrder(streams.kindOf(&op)))
      continue;
    const int64_t from = places[last - 1] + 1;
    for (const Access &access : accessesOf(&op))
      if (access.writes) {
        auto [place, isNew] = reserved.try_emplace(access.view.getBuffer().getAttr(), from);
        place->second = std::min(place->second, from);
      }
  }
  return reserved;
}

void lifespans(EntryOp entry, const Streams &streams, SymbolTable &symbols) {
  llvm::DenseMap<StringAttr, Life> lives;
  llvm::SmallVector<Numbered> section;
  int64_t count = 0;
  for (auto op : entry.getBody().getOps<SectionOp>()) {
    section.clear();
    for (Operation &inner : op.getBody().front())
      section.push_back({&inner, count++});
    visitSection(op, section, streams, symbols, lives);
  }
  // The host writes input ports before the entry point and reads output ports after it.
  for (auto port : entry.getBody().getOps<PortOp>())
    lives[port.getView().getBuffer().getAttr()].extend(0, count);
  const llvm::DenseMap<StringAttr, int64_t> reserved = reservedBefore(entry, streams);
  for (auto &[name, life] : lives) {
    auto buffer = symbols.lookup<BufferOp>(name);
    if (!buffer || !buffer.getEntry())
      continue;
    buffer.setBegin(life.begin);
    buffer.setEnd(life.end);
    buffer.removeReservedFromAttr();
    if (auto it = reserved.find(name); it != reserved.end())
      buffer.setReservedFrom(it->second);
  }
}

} // namespace

void sluice::setLifespans(ModuleOp module) {
  SymbolTable symbols(module);
  const Streams streams(module);
  for (auto entry : module.getOps<EntryOp>())
    lifespans(entry, streams, symbols);
}

namespace {

struct ComputeLifespans : sluice::impl::ComputeLifespansBase<ComputeLifespans> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    sluice::setLifespans(module);
    for (auto buffer : llvm::make_early_inc_range(module.getOps<BufferOp>()))
      if (buffer.getEntry() && !buffer.getEnd())
        buffer.erase();
  }
};

} // namespace
