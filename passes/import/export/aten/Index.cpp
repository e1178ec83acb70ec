//===- Index.cpp - ops of ATen that read by index ----------------------------------------===//

#include "passes/import/export/Call.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::index {

/// The first index and the count of consecutive indices along the last dim, equal along all others; nullopt for others.
std::optional<std::pair<std::int64_t, std::int64_t>> consecutive(const Constant &indices) {
  std::optional<double> first;
  bool isRange = indices.elements() > 0;
  indices.forEachRow([&](Index, llvm::ArrayRef<double> row) {
    if (!first)
      first = row.front();
    for (auto [i, value] : llvm::enumerate(row))
      isRange &= value == *first + static_cast<double>(i);
    return isRange;
  });
  if (!isRange)
    return std::nullopt;
  return std::pair(static_cast<std::int64_t>(*first), indices.rowSize());
}

/// Rows of a table. Constant consecutive indices, as those of positions, are a slice.
void embedding(Call &call) {
  Value table = call.value("weight");
  const Tensor indices = call.tensor("indices");
  const std::int64_t padding = call.integer("padding_idx"), rows = Call::shapeOf(table)[0];
  if (call.flag("sparse") || call.flag("scale_grad_by_freq"))
    return call.refuse("embedding with 'sparse' or 'scale_grad_by_freq'", "leave the argument out");
  if (indices.constant && padding < 0)
    if (const auto range = consecutive(*indices.constant);
        range && range->first >= 0 && range->first + range->second <= rows)
      return call.set(
          call.broadcast(call.slice(table, 0, range->first, range->first + range->second), call.result().sizes));
  call.set(call.make<model::EmbeddingOp>(
      {table, call.value("indices")},
      {{"padding", padding < 0 ? IntegerAttr() : call.builder.getI64IntegerAttr(padding)}}));
}

void gather(Call &call) {
  Value self = call.value("self");
  call.set(call.make<model::TakeAlongOp>(
      {self, call.value("index")}, {{"dim", call.builder.getI64IntegerAttr(call.dim("dim", Call::rankOf(self)))}}));
}

constexpr AtenOp table[] = {
    {"embedding.default", embedding},
    {"gather.default", gather},
};

} // namespace sluice::exported::index

llvm::ArrayRef<AtenOp> exported::indexOps() { return index::table; }
