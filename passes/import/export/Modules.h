//===- Modules.h - which modules are blocks ----------------------------------------------===//
//
// The outermost block is the sharding unit, and users wrap models in modules of their own. A run is two or more
// children of one type with consecutive numbers. A module that has a run at any depth below it is no block; its
// children are considered: those that are in a run or have children of their own are blocks. So `model.layers.0` is a
// block, and `model` and `model.embed_tokens` are not.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_MODULES_H
#define SLUICE_PASSES_IMPORT_EXPORT_MODULES_H

#include "passes/import/export/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice::exported {

/// The types of the modules that are called, by path.
std::map<std::string, std::string> moduleTypes(const Graph &graph);

class Modules {
public:
  /// `globs` name the blocks; without any the rule does.
  Modules(const Graph &graph, std::vector<std::string> globs);

  /// Globs that match no module.
  std::vector<std::string> unmatched;

  /// The block of a module path as it is in locations; empty for none. A second call has the same block.
  std::string blockOf(llvm::StringRef path) const;
  /// The name of a call's place: its innermost module, with "@1" for a second call.
  static std::string pathOf(const Node &node);

private:
  struct Module {
    std::string type;
    bool isBlock = false;
  };
  /// By path without "@".
  std::map<std::string, Module> modules;
};

/// Encloses each run of ops of one block in a `model.block`, and in it those of the modules `checkpoints` in a
/// `model.checkpoint`. Ops without operands move into the blocks of their users. A checkpoint outside of a block, which
/// contains others, has no effect.
void enclose(mlir::func::FuncOp function, const Modules &modules, const std::vector<std::string> &checkpoints);

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_MODULES_H
