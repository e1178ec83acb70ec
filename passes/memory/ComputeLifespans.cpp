//===- ComputeLifespans.cpp - plan-compute-lifespans --------------------------------===//
#include "passes/memory/Passes.h"

#include "dialect/plan/Accesses.h"

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

/// For each instruction of a section on another stream than compute: behind which instruction compute knows it done.
class Completion {
public:
  Completion(llvm::ArrayRef<Numbered> section) {
    llvm::DenseMap<int64_t, Numbered> records;
    for (const Numbered &n : section) {
      if (isa<RecordOp>(n.op))
        records[cast<RecordOp>(n.op).getEvent()] = n;
      if (auto wait = dyn_cast<WaitOp>(n.op); wait && streamOf(wait) == "compute")
        if (auto it = records.find(wait.getEvent()); it != records.end())
          waits.push_back({streamOf(it->second.op), it->second.at, n.at, whenOf(wait)});
    }
    end = section.empty() ? 0 : section.back().at + 1;
  }

  /// One past the instruction by which an access at `at` is known to be over.
  int64_t of(Operation *op, int64_t at) const {
    if (streamOf(op) == "compute" || streamOf(op).empty())
      return at + 1;
    for (const Known &wait : waits)
      if (wait.stream == streamOf(op) && wait.record > at && (wait.when == "all" || wait.when == whenOf(op)))
        return wait.at + 1;
    return end;
  }

private:
  struct Known {
    llvm::StringRef stream;
    int64_t record, at;
    llvm::StringRef when;
  };
  llvm::SmallVector<Known> waits;
  int64_t end = 0;
};

struct ComputeLifespans : sluice::impl::ComputeLifespansBase<ComputeLifespans> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (auto entry : module.getOps<EntryOp>())
      lifespans(entry, symbols);
    for (auto buffer : llvm::make_early_inc_range(module.getOps<BufferOp>()))
      if (buffer.getEntry() && !buffer.getEnd())
        buffer.erase();
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
    for (auto &[name, life] : lives) {
      auto buffer = symbols.lookup<BufferOp>(name);
      if (!buffer || !buffer.getEntry())
        continue;
      buffer.setBegin(life.begin);
      buffer.setEnd(life.end);
    }
  }

  static void visitSection(SectionOp op, llvm::ArrayRef<Numbered> section, SymbolTable &symbols,
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
    for (const Numbered &n : section) {
      for (const Access &access : accessesOf(n.op))
        touch(n.op, n.at, access.view.getBuffer(), access.writes);
      // Released buffers live until they are released.
      if (auto release = dyn_cast<ReleaseOp>(n.op))
        for (auto buffer : release.getBuffers().getAsRange<FlatSymbolRefAttr>())
          lives[buffer.getAttr()].extend(n.at, n.at + 1);
    }
  }

  static bool isCarried(FlatSymbolRefAttr name, SymbolTable &symbols) {
    auto buffer = symbols.lookup<BufferOp>(name.getAttr());
    return buffer && buffer.getCarried();
  }
};

} // namespace
