//===- Report.h - what became of an imported program ----------------------------------===//
#ifndef SLUICE_PASSES_IMPORT_EXPORT_REPORT_H
#define SLUICE_PASSES_IMPORT_EXPORT_REPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::exported {

/// An op that remains because the ops around it are no composite op.
struct MissedComposite {
  /// The op, "softmax", and the composite op that usually contains it, "attention".
  std::string op, composite;
  /// "model.py:41", empty if the archive has no line.
  std::string place;
  /// Of such ops at the place, and the bytes of their results in one micro-batch, which the backward reads.
  std::int64_t count = 0, bytes = 0;
  /// Ops that compute at the place; the composite op is one.
  std::int64_t launches = 0;
};

struct ExportReport {
  std::int64_t parameters = 0, elements = 0, frozen = 0, ties = 0, states = 0;
  /// Names of the blocks in the order of the program.
  std::vector<std::string> blocks;
  /// By the name of the op, with the kind of attention.
  std::map<std::string, std::int64_t> composites;
  std::vector<MissedComposite> missed;
  /// The outputs that are not the loss, with their types.
  std::vector<std::pair<std::string, mlir::RankedTensorType>> outputs;
  std::int64_t constants = 0, constantBytes = 0;
  /// What may be a mistake of the user.
  std::vector<std::string> warnings;

  /// Counts the ops and constants of the training step, and the parameters of the module.
  void describe(mlir::ModuleOp module);
  std::vector<std::string> lines() const;
  llvm::json::Value json() const;
};

} // namespace sluice::exported

#endif // SLUICE_PASSES_IMPORT_EXPORT_REPORT_H
