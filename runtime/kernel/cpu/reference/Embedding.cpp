//===- Embedding.cpp - rows by index, and rows added by index -----------------===//
//
// gather and embedding: y[i..., c...] = table[indices[i...], c...]. scatter_add and embedding_grad: zeros, to which
// row i of the updates is added at indices[i], in the order of i, unless that is the padding. An index outside the
// table fails the run.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"

#include "runtime/kernel/cpu/SortedIndices.h"

#include <algorithm>
#include <cstring>

namespace sluice::cpu::reference {
namespace {

/// Dims from `first` on, as a row.
Dims rowDims(const Dims &dims, int first) {
  Dims row{};
  std::copy(dims.begin() + first, dims.end(), row.begin());
  return row;
}

Bound rows(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(Check(request).dtype(request.inputs[0], request.outputs[0].dtype));
  return makeKernel(request, [name = request.record->name](Call &call) {
    const Operand &table = call.inputs[0], &indices = call.inputs[1], &y = call.outputs[0];
    std::size_t bytes = dtypeBytes(y.dtype);
    int lead = indices.rank;
    LocalRows here(table);
    Dims extent = rowDims(table.extent, 1), from = rowDims(table.strides, 1), to = rowDims(y.strides, lead);
    for (std::int64_t i = 0, count = indices.elements(); i < count; ++i) {
      std::int64_t index = integerAt(indices, i);
      if (!here.isValid(index))
        return indexError(name, i, index, here.total);
      bool isLocal = here.isLocal(index);
      const char *source =
          table.as<char>() + (isLocal ? index - here.first : 0) * table.strides[0] * static_cast<std::int64_t>(bytes);
      char *target = y.as<char>() + offsetOf(y, 0, lead, i) * static_cast<std::int64_t>(bytes);
      walk<2>(table.rank - 1, extent, {from, to}, [&](auto &at) {
        if (isLocal)
          std::memcpy(target + at[1] * bytes, source + at[0] * bytes, bytes);
        else
          std::memset(target + at[1] * bytes, 0, bytes);
      });
    }
    return Status::ok();
  });
}

/// `padding`: the index whose updates add nothing; -1: no index.
Bound addRows(std::int64_t padding, const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(Check(request).workspace(SortedIndices::bytes(request.inputs[1].elements())));
  return makeKernel(request, [name = request.record->name, padding, adds = request.adds[0]](Call &call) {
    const Operand &updates = call.inputs[0], &y = call.outputs[0];
    int lead = call.inputs[1].rank;
    SortedIndices sorted(call.workspace);
    SLUICE_RETURN_IF_ERROR(sorted.sort(name, call.inputs[1], LocalRows(y), padding));
    Dims extent = rowDims(y.extent, 1), from = rowDims(updates.strides, lead), to = rowDims(y.strides, 1);
    for (std::int64_t row = 0, at = 0; row < y.extent[0]; ++row) {
      std::int64_t begin = at;
      while (at < sorted.count && sorted.row(at) == row)
        ++at;
      walk<2>(y.rank - 1, extent, {from, to}, [&](auto &in) {
        double sum = 0;
        for (std::int64_t i = begin; i < at; ++i)
          sum += load(updates, offsetOf(updates, 0, lead, sorted.position(i)) + in[0]);
        storeResult(y, row * y.strides[0] + in[1], sum, adds);
      });
    }
    return Status::ok();
  });
}

} // namespace

Bound gather(const KernelRequest &request) { return rows(request); }
Bound embedding(const KernelRequest &request) { return rows(request); }
Bound scatter_add(const KernelRequest &request) { return addRows(-1, request); }
Bound embedding_grad(const KernelRequest &request) { return addRows(request.attributes->integer("padding"), request); }

} // namespace sluice::cpu::reference
