//===- Embedding.cpp - rows of a table, by index -----------------------------------===//
//
// Reading copies rows; adding goes over the rows of the table, each with the list of positions with its index, in
// order, a block of columns at a time in f32.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/SortedIndices.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <cstring>

namespace sluice::cpu {
namespace {

constexpr std::int64_t tableColumns = 512;

Bound rows(const KernelRequest &request) {
  const Operand &table = request.inputs[0], &y = request.outputs[0];
  if (table.rank != 2 || !contiguousRows(table) || !contiguousRows(y))
    return useReference();
  return makeKernel(request, [name = request.record->name](Call &call) {
    const Operand &table = call.inputs[0], &indices = call.inputs[1];
    Rows out(call.outputs[0]);
    auto bytes = static_cast<std::int64_t>(dtypeBytes(table.dtype));
    LocalRows here(table);
    for (std::int64_t i = 0; i < out.rows; ++i)
      if (std::int64_t index = integerAt(indices, i); !here.isValid(index))
        return indexError(name, i, index, here.total);
    forEach(call.threads, out.rows, [&](std::int64_t i) {
      char *to = out.operand->as<char>() + out.offset(i) * bytes;
      auto size = static_cast<std::size_t>(out.columns * bytes);
      if (std::int64_t index = integerAt(indices, i); here.isLocal(index))
        std::memcpy(to, table.as<char>() + (index - here.first) * table.strides[0] * bytes, size);
      else
        std::memset(to, 0, size);
    });
    return Status::ok();
  });
}

template <typename T> Bound addRowsOf(std::int64_t padding, const KernelRequest &request) {
  return makeKernel(request, [&l = loops(), name = request.record->name, padding, adds = request.adds[0]](Call &call) {
    const Operand &y = call.outputs[0];
    Rows updates(call.inputs[0]);
    SortedIndices sorted(call.workspace);
    SLUICE_RETURN_IF_ERROR(sorted.sort(name, call.inputs[1], LocalRows(y), padding));
    forEach(call.threads, y.extent[0], [&](std::int64_t row) {
      std::int64_t begin = sorted.firstOf(row), end = sorted.firstOf(row + 1);
      // No sum of rows is -0, to which an addition of 0 would give another sign.
      if (adds && begin == end)
        return;
      for (std::int64_t c = 0; c < updates.columns; c += tableColumns) {
        std::int64_t count = std::min(tableColumns, updates.columns - c), at = row * y.strides[0] + c;
        float sums[tableColumns];
        std::memset(sums, 0, static_cast<std::size_t>(count) * sizeof(float));
        for (std::int64_t i = begin; i < end; ++i)
          l.of<T>().addTo(updates.at<T>(sorted.position(i)) + c, sums, count);
        if (adds)
          l.f32.addTo(sums, y.as<float>() + at, count);
        else
          withLoops(y.dtype, [&]<typename R>() { l.of<R>().narrow(sums, y.as<R>() + at, count); });
      }
    });
    return Status::ok();
  });
}

/// `padding`: the index whose updates add nothing; -1: no index.
Bound addRows(std::int64_t padding, const KernelRequest &request) {
  const Operand &updates = request.inputs[0], &y = request.outputs[0];
  if (y.rank != 2 || !contiguousRows(updates) || !contiguousRows(y) || !hasLoops(updates.dtype) || !hasLoops(y.dtype))
    return useReference();
  return withLoops(updates.dtype, [&]<typename T>() { return addRowsOf<T>(padding, request); });
}

} // namespace

Bound fast::gather(const KernelRequest &request) { return rows(request); }
Bound fast::embedding(const KernelRequest &request) { return rows(request); }
Bound fast::scatter_add(const KernelRequest &request) { return addRows(-1, request); }
Bound fast::embedding_grad(const KernelRequest &request) {
  return addRows(request.attributes->integer("padding"), request);
}

} // namespace sluice::cpu
