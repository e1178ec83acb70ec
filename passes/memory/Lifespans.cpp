//===- Lifespans.cpp - in which instructions a buffer lives --------------------------===//
//
// From the first access to behind the last one, in order of issue. In the first repetition of an entry point a stream that
// has waited for nothing but carried records may be as early as those: what it writes is taken from there on, in the run
// before.
//
//===----------------------------------------------------------------------===//
#include "passes/memory/Lifespans.h"

#include "dialect/plan/Accesses.h"

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

/// For each instruction of a section on another stream than compute: behind which instruction compute knows it done. The
/// host's work stands as compute's does: whatever takes its memory, on any stream, is ordered behind it.
class Completion {
public:
  Completion(llvm::ArrayRef<Numbered> section) : section(section) {}

  /// One past the instruction by which an access at `at` is known to be over.
  int64_t of(Operation *op, int64_t at) const {
    const llvm::StringRef own = streamOf(op);
    if (own == "compute" || own == "host" || own.empty())
      return at + 1;
    // Who knows it: by its own order, then by waiting for records of those who know.
    llvm::SmallVector<llvm::StringRef, 4> knowing = {own};
    llvm::DenseMap<int64_t, bool> tells;
    for (const Numbered &n : section.drop_front(at - section.front().at + 1)) {
      if (auto record = dyn_cast<RecordOp>(n.op)) {
        tells[record.getEvent()] = llvm::is_contained(knowing, streamOf(record));
        continue;
      }
      auto wait = dyn_cast<WaitOp>(n.op);
      if (!wait || !tells.lookup(wait.getEvent()) || (whenOf(wait) != "all" && whenOf(wait) != whenOf(op)))
        continue;
      if (streamOf(wait) == "compute")
        return n.at + 1;
      if (!llvm::is_contained(knowing, streamOf(wait)))
        knowing.push_back(streamOf(wait));
    }
    return section.back().at + 1;
  }

private:
  llvm::ArrayRef<Numbered> section;
};

bool isCarried(FlatSymbolRefAttr name, SymbolTable &symbols) {
  auto buffer = symbols.lookup<BufferOp>(name.getAttr());
  return buffer && buffer.getCarried();
}

void visitSection(SectionOp op, llvm::ArrayRef<Numbered> section, SymbolTable &symbols,
                         llvm::DenseMap<StringAttr, Life> &lives) {
  if (section.empty())
    return;
  const Completion completion(section);
  const int64_t begin = section.front().at;
  // Buffers whose contents may pass from one repetition to the next.
  llvm::DenseMap<StringAttr, llvm::StringRef> firstWhen;
  const auto touch = [&](Operation *user, int64_t at, FlatSymbolRefAttr buffer, bool writes) {
    Life &life = lives[buffer.getAttr()];
    const int64_t end = completion.of(user, at);
    if (op.getRepeat() > 1) {
      auto [it, isFirst] = firstWhen.try_emplace(buffer.getAttr(), whenOf(user));
      const bool wasMadeBefore = life.begin >= 0 && life.begin < begin;
      const bool carries = isFirst ? !writes : it->second != "all" && it->second != whenOf(user);
      if (wasMadeBefore || carries || isCarried(buffer, symbols))
        life.extend(begin, section.back().at + 1);
    }
    life.extend(at, end);
  };
  // A unit is released as a whole; the place of each of its parameters is free from the last read of it.
  for (const Numbered &n : section)
    for (const Access &access : accessesOf(n.op))
      touch(n.op, n.at, access.view.getBuffer(), access.writes);
}

/// Of each buffer that is written ahead of the run: the first instruction of the run before from which on it may be.
llvm::DenseMap<StringAttr, int64_t> placesAhead(EntryOp entry) {
  llvm::DenseMap<int64_t, int64_t> recorded;
  llvm::DenseMap<int64_t, llvm::StringRef> recordedOn;
  forEachInstruction(entry, [&](Operation *op, int64_t at, SectionOp) {
    if (auto record = dyn_cast<RecordOp>(op)) {
      recorded[record.getEvent()] = at;
      recordedOn[record.getEvent()] = streamOf(op);
    }
  });
  llvm::DenseMap<StringAttr, int64_t> ahead;
  auto sections = entry.getBody().getOps<SectionOp>();
  if (sections.empty())
    return ahead;
  SectionOp first = *sections.begin();
  // Of each stream that is ahead: behind what of the run before.
  llvm::StringMap<int64_t> behind;
  for (Operation &op : first.getBody().front()) {
    if (!isIssued(&op, {0, int64_t(first.getRepeat())}))
      continue;
    const llvm::StringRef stream = streamOf(&op);
    if (auto wait = dyn_cast<WaitOp>(op)) {
      if (wait.getCarried())
        behind[stream] = std::max(behind.lookup(stream), recorded.lookup(wait.getEvent()));
      else if (recordedOn.lookup(wait.getEvent()) == "compute")
        behind.erase(stream);
      continue;
    }
    auto it = behind.find(stream);
    if (it == behind.end())
      continue;
    for (const Access &access : accessesOf(&op))
      if (access.writes) {
        auto [place, isNew] = ahead.try_emplace(access.view.getBuffer().getAttr(), it->second + 1);
        place->second = std::min(place->second, it->second + 1);
      }
  }
  return ahead;
}

void lifespans(EntryOp entry, SymbolTable &symbols) {
  llvm::DenseMap<StringAttr, Life> lives;
  llvm::SmallVector<Numbered> section;
  int64_t count = 0;
  for (auto op : entry.getBody().getOps<SectionOp>()) {
    section.clear();
    for (Operation &inner : op.getBody().front())
      section.push_back({&inner, count++});
    visitSection(op, section, symbols, lives);
  }
  // Ports stand for what the host writes before the entry and reads behind it.
  for (auto port : entry.getBody().getOps<PortOp>())
    lives[port.getView().getBuffer().getAttr()].extend(0, count);
  const llvm::DenseMap<StringAttr, int64_t> ahead = placesAhead(entry);
  for (auto &[name, life] : lives) {
    auto buffer = symbols.lookup<BufferOp>(name);
    if (!buffer || !buffer.getEntry())
      continue;
    buffer.setBegin(life.begin);
    buffer.setEnd(life.end);
    buffer.removeAheadAttr();
    if (auto it = ahead.find(name); it != ahead.end())
      buffer.setAhead(it->second);
  }
}

} // namespace

void sluice::setLifespans(ModuleOp module) {
  SymbolTable symbols(module);
  for (auto entry : module.getOps<EntryOp>())
    lifespans(entry, symbols);
}
