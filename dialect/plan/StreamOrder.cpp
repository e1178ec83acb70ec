//===- StreamOrder.cpp - the order of streams and events ----------------------------===//
#include "dialect/plan/StreamOrder.h"

#include "dialect/plan/Accesses.h"

using namespace mlir;

namespace sluice::plan_ir {

void StreamOrder::beginRun() {
  recordsOfPreviousRun = std::move(records);
  records.clear();
}

void StreamOrder::clearOrder() {
  for (auto [stream, clock] : llvm::enumerate(clocks)) {
    const Known own = clock[stream];
    clock.assign(stream + 1, Known());
    clock[stream] = own;
  }
}

StreamOrder::Position StreamOrder::issue(Operation *instruction) {
  const unsigned stream = addStream(streamOf(instruction));
  streams.push_back(stream);
  const Position position = streams.size();
  Clock &clock = clocks[stream];
  clock[stream].any = position;
  if (auto record = dyn_cast<RecordOp>(instruction)) {
    records[record.getEvent()] = clock;
  } else if (auto wait = dyn_cast<WaitOp>(instruction)) {
    if (const Clock *record = recordOf(wait))
      merge(clock, *record);
  } else {
    clock[stream].work = position;
  }
  return position;
}

bool StreamOrder::isImplied(WaitOp wait) const {
  const Clock *record = recordOf(wait), *clock = clockOf(streamOf(wait));
  if (!record)
    return false;
  // A stream without an earlier instruction is ordered after no record.
  return clock && covers(*clock, *record);
}

bool StreamOrder::isDoneBefore(Position position, StringRef stream) const {
  const Clock *clock = clockOf(stream);
  return clock && known(*clock, streams[position - 1]).work >= position;
}

bool StreamOrder::isOrdered(StringRef before, StringRef after) const {
  const Clock *clock = clockOf(after), *done = clockOf(before);
  return clock && done && covers(*clock, *done);
}

StreamOrder::Position StreamOrder::lastBefore(StringRef stream, StringRef of) const {
  const Clock *clock = clockOf(stream), *other = clockOf(of);
  return clock && other ? known(*clock, static_cast<unsigned>(other - clocks.data())).any : 0;
}

unsigned StreamOrder::addStream(StringRef name) {
  const auto found = llvm::find(names, name);
  const auto stream = static_cast<unsigned>(found - names.begin());
  if (found == names.end()) {
    names.push_back(name);
    clocks.emplace_back(stream + 1)[stream].work = 0;
  }
  return stream;
}

const StreamOrder::Clock *StreamOrder::clockOf(StringRef stream) const {
  const auto found = llvm::find(names, stream);
  return found == names.end() ? nullptr : &clocks[found - names.begin()];
}

const StreamOrder::Clock *StreamOrder::recordOf(WaitOp wait) const {
  const auto &from = wait.getCarried() ? recordsOfPreviousRun : records;
  const auto found = from.find(wait.getEvent());
  return found == from.end() ? nullptr : &found->second;
}

bool StreamOrder::covers(const Clock &clock, const Clock &other) {
  for (unsigned stream = 0; stream < other.size(); ++stream)
    if (known(clock, stream).work < other[stream].work)
      return false;
  return true;
}

void StreamOrder::merge(Clock &clock, const Clock &other) {
  if (clock.size() < other.size())
    clock.resize(other.size());
  for (unsigned stream = 0; stream < other.size(); ++stream) {
    clock[stream].work = std::max(clock[stream].work, other[stream].work);
    clock[stream].any = std::max(clock[stream].any, other[stream].any);
  }
}

} // namespace sluice::plan_ir
