//===- Optimizer.h - hyper-parameters of optimizers ------------------------------------------===//
//
// Values that a recipe and the ops with OptimizerOpInterface exchange.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_RULES_OPTIMIZER_H
#define SLUICE_DIALECT_RULES_OPTIMIZER_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sluice {

/// A flag; a number of at least 0; or two numbers from 0 to 1 (below 1).
using HyperParameterValue = std::variant<bool, double, std::vector<double>>;

/// A setting of an optimizer, `optimizer.<name>` in a recipe. Optimizers that have one of the same name give it the
/// same meaning and the same kind of value.
struct HyperParameter {
  std::string name;
  HyperParameterValue defaultValue;
  std::string doc;
};

/// Values of hyper-parameters by name.
struct OptimizerSettings : std::map<std::string, HyperParameterValue, std::less<>> {
  double number(llvm::StringRef name) const { return std::get<double>(find(name)->second); }
  bool flag(llvm::StringRef name) const { return std::get<bool>(find(name)->second); }
  const std::vector<double> &numbers(llvm::StringRef name) const {
    return std::get<std::vector<double>>(find(name)->second);
  }
};

/// The hyper-parameter that ApplyOptimizer sets to 0 for parameters without weight decay.
inline constexpr llvm::StringLiteral weightDecayName = "weight_decay";

/// A setting that contradicts another one, and the expected value.
struct SettingsConflict {
  std::string name;
  std::string message;
};

/// The operands of an update of one parameter: the parameter, its gradient and its states, then scalars of the step.
struct UpdateOperands {
  llvm::SmallVector<mlir::Value> values;
  mlir::Value lr, step, coefficient, guard;
};

/// The static methods of an op with OptimizerOpInterface. All settings that `parameters` lists are present in
/// `settings`.
struct OptimizerInfo {
  std::string name;
  std::vector<HyperParameter> parameters;
  /// Names of the states per parameter.
  llvm::SmallVector<llvm::StringRef> (*states)(const OptimizerSettings &settings);
  std::optional<SettingsConflict> (*findConflict)(const OptimizerSettings &settings);
  /// Results are the new parameter and states.
  mlir::Operation *(*build)(mlir::ImplicitLocOpBuilder &builder, const UpdateOperands &operands,
                            const OptimizerSettings &settings);

  const HyperParameter *find(llvm::StringRef parameter) const {
    for (const HyperParameter &one : parameters)
      if (one.name == parameter)
        return &one;
    return nullptr;
  }
  OptimizerSettings defaults() const {
    OptimizerSettings settings;
    for (const HyperParameter &one : parameters)
      settings[one.name] = one.defaultValue;
    return settings;
  }
};

} // namespace sluice

#endif // SLUICE_DIALECT_RULES_OPTIMIZER_H
