//===- RunOrder.cpp - order of a run of an entry point after the run before --------------------===//
#include "passes/memory/RunOrder.h"

#include "dialect/plan/StreamOrder.h"

using namespace mlir;
using namespace sluice::plan_ir;
using sluice::StreamKind;

namespace {

SectionOp firstSection(EntryOp entry) { return *entry.getBody().getOps<SectionOp>().begin(); }

/// Lets stream `after` wait before the instruction for the work that stream `before` has so far.
void addOrder(Operation *instruction, StringRef before, StringRef after, int64_t &events) {
  OpBuilder builder(instruction);
  const Location loc = instruction->getLoc();
  const sluice::Phase phase = phaseOf(instruction);
  const auto symbol = [&](StringRef stream) { return FlatSymbolRefAttr::get(builder.getContext(), stream); };
  RecordOp::create(builder, loc, events, symbol(before), WhenAttr(), phase, StringAttr());
  WaitOp::create(builder, loc, events++, /*carried=*/false, symbol(after), WhenAttr(), phase, StringAttr());
}

/// Instructions after the early ones on their streams wait for compute and the host as before.
void orderAfterEarly(SectionOp section, const Streams &streams, const sluice::LastEarly &last, int64_t &events) {
  const llvm::DenseMap<int64_t, StringRef> recordedOn = sluice::recordingStreams(section);
  for (StreamKind kind : {StreamKind::fetch, StreamKind::gather}) {
    auto it = last.find(kind);
    if (it == last.end())
      continue;
    const StringRef stream = streams.nameOf(kind);
    llvm::SmallVector<StringRef> sources = {streams.nameOf(StreamKind::compute)};
    if (streams.find(StreamKind::host))
      sources.push_back(streams.nameOf(StreamKind::host));
    // The next work of the stream, and the streams that it waits for already.
    Operation *next = it->second->getNextNode();
    for (; next; next = next->getNextNode()) {
      if (streamOf(next) != stream || isa<RecordOp>(next))
        continue;
      auto wait = dyn_cast<WaitOp>(next);
      if (!wait)
        break;
      llvm::erase(sources, recordedOn.lookup(wait.getEvent()));
    }
    if (!next)
      continue;
    for (StringRef from : sources)
      addOrder(next, from, stream, events);
  }
}

/// Only waits of early gathers may have ordered the first copy of an activation to the host after the host's work in
/// the run before.
void orderOffloadAfterHost(EntryOp entry, SymbolTable &symbols, const Streams &streams, int64_t &events) {
  SectionOp section = firstSection(entry);
  auto copies = section.getBody().getOps<CopyOp>();
  auto copy = llvm::find_if(copies, [&](CopyOp op) {
    return streams.kindOf(op) == StreamKind::offload &&
           symbols.lookup<BufferOp>(op.getSource().getBuffer().getAttr()).getBufferClass() ==
               sluice::BufferClass::activation;
  });
  if (copy == copies.end())
    return;
  StreamOrder order;
  order.beginRun();
  for (auto each : entry.getBody().getOps<SectionOp>())
    for (Repetition repetition : repetitionsOf(each))
      for (Operation &op : each.getBody().front())
        if (isIssued(&op, repetition))
          order.issue(&op);
  order.beginRun();
  for (Operation &op : section.getBody().front()) {
    if (&op == *copy)
      break;
    if (isIssued(&op, {0, int64_t(section.getRepeat())}))
      order.issue(&op);
  }
  const StringRef host = streams.nameOf(StreamKind::host), offload = streams.nameOf(StreamKind::offload);
  if (!order.isOrdered(host, offload))
    addOrder(*copy, host, offload, events);
}

} // namespace

llvm::DenseMap<int64_t, StringRef> sluice::recordingStreams(SectionOp section) {
  llvm::DenseMap<int64_t, StringRef> streams;
  for (auto record : section.getBody().getOps<RecordOp>())
    streams[record.getEvent()] = streamOf(record);
  return streams;
}

void sluice::orderAfterPreviousRun(EntryOp entry, SymbolTable &symbols, const Streams &streams, const LastEarly &last,
                                   int64_t &events) {
  orderAfterEarly(firstSection(entry), streams, last, events);
  if (streams.find(StreamKind::host))
    orderOffloadAfterHost(entry, symbols, streams, events);
}
