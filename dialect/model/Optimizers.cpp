//===- Optimizers.cpp - the optimizers of the model dialect -----------------------------------===//

#include "dialect/model/Optimizers.h"

#include "dialect/model/Model.h"

using namespace sluice;

namespace {

template <typename OpT> void addOptimizer(std::vector<OptimizerInfo> &list) {
  if constexpr (std::is_base_of_v<OptimizerOpInterface::Trait<OpT>, OpT>)
    list.push_back({OpT::getOperationName().split('.').second.str(), OpT::getHyperParameters(), OpT::getStateNames,
                    OpT::findConflict, OpT::buildUpdate});
}

template <typename... Ops> std::vector<OptimizerInfo> collectOptimizers() {
  std::vector<OptimizerInfo> list;
  (addOptimizer<Ops>(list), ...);
  llvm::sort(list, [](const OptimizerInfo &a, const OptimizerInfo &b) {
    return std::pair(a.name != model::defaultOptimizer, a.name) < std::pair(b.name != model::defaultOptimizer, b.name);
  });
  return list;
}

} // namespace

llvm::ArrayRef<OptimizerInfo> model::optimizers() {
  using namespace model;
  static const std::vector<OptimizerInfo> list = collectOptimizers<
#define GET_OP_LIST
#include "dialect/model/ModelOps.cpp.inc"
      >();
  return list;
}

const OptimizerInfo *model::findOptimizer(llvm::StringRef name) {
  for (const OptimizerInfo &one : optimizers())
    if (one.name == name)
      return &one;
  return nullptr;
}
