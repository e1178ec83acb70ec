//===- Complex.cpp - complex numbers as pairs --------------------------------------------===//

#include "passes/import/export/Complex.h"

#include "llvm/ADT/STLExtras.h"

using namespace sluice;
using namespace sluice::exported;

/// Ops whose arguments are numbers of dims, or sizes.
static constexpr llvm::StringLiteral movements[] = {
    "alias.default",           "clone.default",     "contiguous.default", "detach.default",      "expand.default",
    "lift_fresh_copy.default", "reshape.default",   "select.int",         "slice.Tensor",        "squeeze.dim",
    "transpose.int",           "unsqueeze.default", "view.default",       "_unsafe_view.default"};

void exported::carryComplex(Node &node, const llvm::StringMap<TensorMeta> &tensors) {
  const auto isComplex = [&](const std::string &name) {
    const auto meta = tensors.find(name);
    return meta != tensors.end() && meta->second.isComplex;
  };
  std::size_t operands = 0, complexOperands = 0;
  for (const auto &[key, argument] : node.inputs) {
    operands += argument.names.size();
    complexOperands += static_cast<std::size_t>(llvm::count_if(argument.names, isComplex));
  }
  if (complexOperands == 0 && llvm::none_of(node.outputs, isComplex))
    return;
  llvm::StringRef name = node.target;
  name.consume_front("aten.");
  if (name == "view_as_complex.default" || name == "view_as_real.default" || name == "polar.default" ||
      (name == "mul.Tensor" && operands == 2 && complexOperands == 2))
    return;
  if (!llvm::is_contained(movements, name)) {
    node.problem = "complex numbers are moved and multiplied with each other only";
    node.remedy = "write the module with real numbers";
    return;
  }
  for (auto &[key, argument] : node.inputs) {
    if (llvm::is_contained({"dim", "dim0", "dim1"}, key))
      for (std::int64_t &dim : argument.integers)
        dim -= dim < 0 ? 1 : 0;
    if (key == "size" || key == "shape")
      argument.integers.push_back(2);
  }
}
