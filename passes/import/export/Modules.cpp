//===- Modules.cpp - which modules are blocks ---------------------------------------------===//

#include "passes/import/export/Modules.h"

#include "dialect/model/Model.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

static llvm::StringRef withoutCall(llvm::StringRef path) { return path.take_front(path.find('@')); }

std::string Modules::pathOf(const Node &node) { return node.origin.modules.empty() ? "" : node.origin.modules.back(); }

static void addTypes(const Graph &graph, std::map<std::string, std::string> &types) {
  for (const Node &node : graph.nodes) {
    for (auto [path, type] : llvm::zip_equal(node.origin.modules, node.origin.types))
      types[withoutCall(path).str()] = type;
    for (const auto &[name, argument] : node.inputs)
      if (argument.graph)
        addTypes(*argument.graph, types);
  }
}

std::map<std::string, std::string> exported::moduleTypes(const Graph &graph) {
  std::map<std::string, std::string> types;
  addTypes(graph, types);
  return types;
}

/// Parent and last component of a path.
static std::pair<llvm::StringRef, llvm::StringRef> splitPath(llvm::StringRef path) {
  return path.contains('.') ? path.rsplit('.') : std::pair(llvm::StringRef(), path);
}

Modules::Modules(const Graph &graph, std::vector<std::string> globs) {
  for (auto &[path, type] : moduleTypes(graph))
    modules[path].type = type;
  if (!globs.empty()) {
    for (const std::string &glob : globs) {
      llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(glob);
      bool isMatched = false;
      for (auto &[path, module] : modules)
        if (pattern && pattern->match(path))
          isMatched = module.isBlock = true;
      if (!pattern)
        llvm::consumeError(pattern.takeError());
      if (!isMatched)
        unmatched.push_back(glob);
    }
    return;
  }
  // A leaf outside of a run, such as an embedding, belongs to the root.
  for (auto &[path, module] : modules)
    for (llvm::StringRef parent = splitPath(path).first; !parent.empty(); parent = splitPath(parent).first)
      if (auto found = modules.find(parent.str()); found != modules.end())
        found->second.isBlock = true;
  llvm::SmallVector<llvm::StringRef> withRuns;
  for (auto &[path, module] : modules) {
    const auto [parent, name] = splitPath(path);
    std::int64_t number = 0;
    if (path.empty() || name.getAsInteger(10, number))
      continue;
    const auto next = modules.find(((parent.empty() ? "" : parent + ".") + llvm::Twine(number + 1)).str());
    if (next == modules.end() || next->second.type != module.type)
      continue;
    module.isBlock = next->second.isBlock = true;
    withRuns.push_back(parent);
  }
  for (llvm::StringRef path : withRuns)
    for (;; path = splitPath(path).first) {
      if (auto found = modules.find(path.str()); found != modules.end())
        found->second.isBlock = false;
      if (path.empty())
        break;
    }
}

std::string Modules::blockOf(llvm::StringRef path) const {
  path = withoutCall(path);
  std::string block;
  // The outermost ancestor that is a block.
  for (llvm::StringRef each = path; !each.empty(); each = splitPath(each).first)
    if (auto found = modules.find(each.str()); found != modules.end() && found->second.isBlock)
      block = each.str();
  return block;
}

/// The module path of an op's location; empty without one.
static llvm::StringRef pathOf(Operation *op) {
  llvm::StringRef path;
  if (auto name = op->getLoc()->findInstanceOf<NameLoc>())
    path = name.getName().getValue();
  return path;
}

static bool isSource(Operation *op) {
  return op->getNumOperands() == 0 && isa<model::ReadOp, model::ConstantOp, model::IotaOp>(op);
}

/// The part of a path from "@": which call it is of.
static llvm::StringRef callOf(llvm::StringRef path) {
  return path.contains('@') ? path.drop_front(path.find('@')) : llvm::StringRef();
}

using MakeRegion = llvm::function_ref<Operation *(OpBuilder &, llvm::StringRef name, llvm::StringRef call, TypeRange)>;

namespace {
/// Ops of one module, of one call of it.
struct Run {
  std::string name, call;
  llvm::SmallVector<Operation *> ops;
};
} // namespace

/// Moves the ops into the region of a new op.
static void moveIntoRegion(const Run &run, MakeRegion make) {
  llvm::SetVector<Value> results;
  llvm::SmallPtrSet<Operation *, 16> inside(run.ops.begin(), run.ops.end());
  Block *body = run.ops.front()->getBlock();
  for (Operation *op : run.ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !inside.contains(body->findAncestorOpInBlock(*user)); }))
        results.insert(result);
  OpBuilder builder(run.ops.front());
  Operation *region = make(builder, run.name, run.call, TypeRange(ValueRange(results.getArrayRef())));
  Block *inner = builder.createBlock(&region->getRegion(0));
  for (Operation *op : run.ops)
    op->moveBefore(inner, inner->end());
  model::YieldOp::create(builder, region->getLoc(), results.getArrayRef());
  for (auto [source, result] : llvm::zip_equal(results, region->getResults()))
    Value(source).replaceUsesWithIf(result, [&](OpOperand &use) { return !region->isAncestor(use.getOwner()); });
}

/// Encloses each run of ops of one name, of one call. `nameOf` gives the name for a path; ops with an empty one stay.
static void encloseRuns(Block &body, llvm::function_ref<std::string(llvm::StringRef)> nameOf, MakeRegion make) {
  llvm::SmallVector<Run> runs;
  for (Operation &op : body.without_terminator()) {
    if (isSource(&op))
      continue;
    const llvm::StringRef path = pathOf(&op);
    const std::string name = nameOf(path);
    const llvm::StringRef call = callOf(path);
    if (runs.empty() || runs.back().name != name || runs.back().call != call)
      runs.push_back({name, call.str(), {}});
    runs.back().ops.push_back(&op);
  }
  // A source has a copy in each run that reads it.
  llvm::SmallVector<Operation *> sources;
  for (Operation &op : body.without_terminator())
    if (isSource(&op))
      sources.push_back(&op);
  for (Run &run : runs) {
    llvm::DenseMap<Operation *, Operation *> copies;
    llvm::SmallVector<Operation *> withSources;
    for (Operation *op : run.ops) {
      for (OpOperand &operand : op->getOpOperands())
        if (Operation *source = operand.get().getDefiningOp(); source && isSource(source)) {
          Operation *&copy = copies[source];
          if (!copy) {
            copy = source->clone();
            copy->setLoc(op->getLoc());
            body.getOperations().insert(op->getIterator(), copy);
            withSources.push_back(copy);
          }
          operand.set(copy->getResult(llvm::cast<OpResult>(operand.get()).getResultNumber()));
        }
      withSources.push_back(op);
    }
    run.ops = std::move(withSources);
  }
  for (Operation *source : sources)
    if (source->use_empty())
      source->erase();
    else
      source->moveBefore(body.getTerminator());
  for (const Run &run : runs)
    if (!run.name.empty())
      moveIntoRegion(run, make);
}

void exported::enclose(func::FuncOp function, const Modules &modules, const std::vector<std::string> &checkpoints) {
  Block &body = function.getBody().front();
  // Within a block: one that contains blocks would hide them.
  const auto checkpointOf = [&](llvm::StringRef path) {
    std::string outermost;
    for (llvm::StringRef each = withoutCall(path); !each.empty(); each = splitPath(each).first)
      if (llvm::is_contained(checkpoints, each) && !modules.blockOf(each).empty())
        outermost = each.str();
    return outermost;
  };
  if (!checkpoints.empty())
    encloseRuns(body, checkpointOf,
                [](OpBuilder &builder, llvm::StringRef name, llvm::StringRef call, TypeRange types) -> Operation * {
                  // The second loop reads which block and call it is of.
                  const Location location = NameLoc::get(builder.getStringAttr(name + call));
                  return model::CheckpointOp::create(builder, location, types);
                });
  encloseRuns(
      body, [&](llvm::StringRef path) { return modules.blockOf(path); },
      [](OpBuilder &builder, llvm::StringRef name, llvm::StringRef, TypeRange types) -> Operation * {
        const StringAttr block = builder.getStringAttr(name);
        return model::BlockOp::create(builder, NameLoc::get(block), types, block);
      });
}
