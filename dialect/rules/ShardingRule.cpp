//===- ShardingRule.cpp - printing and building sharding rules --------------------===//

#include "dialect/rules/ShardingRule.h"

#include "llvm/ADT/ArrayRef.h"

namespace sluice {

/// i, j, ..., z, then f26, f27, ...
static std::string factorName(unsigned factor) {
  constexpr unsigned first = 'i' - 'a', letters = 26;
  if (factor + first < letters)
    return std::string(1, static_cast<char>('i' + factor));
  std::string name(1, 'f');
  name += std::to_string(factor + first);
  return name;
}

static void printTensors(llvm::raw_ostream &os, llvm::ArrayRef<TensorFactors> tensors) {
  os << '(';
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    os << (t ? ", [" : "[");
    for (std::size_t d = 0; d < tensors[t].size(); ++d) {
      os << (d ? ", " : "");
      if (tensors[t][d].empty())
        os << '1';
      for (unsigned factor : tensors[t][d])
        os << factorName(factor);
    }
    os << ']';
  }
  os << ')';
}

std::string ShardingRule::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  printTensors(os, operands);
  os << " -> ";
  printTensors(os, results);
  os << " {";
  for (std::size_t f = 0; f < factors.size(); ++f)
    os << (f ? ", " : "") << factorName(f) << '=' << factors[f].size << (factors[f].replicated ? " replicated" : "")
       << (factors[f].positioned ? " positioned" : "");
  os << '}';
  if (reduction != PartialReduction::none)
    os << " reduce=" << stringifyPartialReduction(reduction);
  return text;
}

ShardingRule elementwiseRule(llvm::ArrayRef<llvm::ArrayRef<std::int64_t>> operandShapes,
                             llvm::ArrayRef<llvm::ArrayRef<std::int64_t>> resultShapes) {
  // The broadcast shape of everything; trailing dims align.
  llvm::SmallVector<std::int64_t> full;
  for (llvm::ArrayRef<llvm::ArrayRef<std::int64_t>> shapes : {operandShapes, resultShapes})
    for (llvm::ArrayRef<std::int64_t> shape : shapes) {
      if (shape.size() > full.size())
        full.insert(full.begin(), shape.size() - full.size(), 1);
      for (std::size_t d = 0; d < shape.size(); ++d) {
        std::int64_t &extent = full[full.size() - shape.size() + d];
        if (shape[d] != 1)
          extent = shape[d];
      }
    }

  ShardingRule rule;
  for (std::int64_t extent : full)
    rule.addFactor(extent);
  auto map = [&](llvm::ArrayRef<std::int64_t> shape) {
    TensorFactors tensor;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      unsigned factor = full.size() - shape.size() + d;
      tensor.emplace_back();
      if (shape[d] == full[factor])
        tensor.back().push_back(factor);
    }
    return tensor;
  };
  for (llvm::ArrayRef<std::int64_t> shape : operandShapes)
    rule.operands.push_back(map(shape));
  for (llvm::ArrayRef<std::int64_t> shape : resultShapes)
    rule.results.push_back(map(shape));
  return rule;
}

} // namespace sluice
