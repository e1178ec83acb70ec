//===- TakeAlong.cpp - elements by an index along one dim --------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/SortedIndices.h"

namespace sluice::cpu::reference {
namespace {

/// The indices are within the table in every dim except `dim`, and there is one value per index.
Result<int> checkAlong(const KernelRequest &request, const Operand &table, const Operand &values) {
  const Check check(request);
  const Operand &indices = request.inputs[1];
  SLUICE_RETURN_IF_ERROR(check.dtype(values, table.dtype));
  SLUICE_RETURN_IF_ERROR(check.rank(indices, table.rank));
  SLUICE_ASSIGN_OR_RETURN(int dim, check.dimOf(table));
  for (int d = 0; d < table.rank; ++d)
    if (d != dim && indices.extent[d] > table.extent[d])
      return check.refuse("indices, expected at most ", table.extent[d], " in dim ", d, " but got ", indices.extent[d]);
  return dim;
}

/// body(table offset, value offset) for each index in row-major order; the table offset is -1 for a row of another
/// rank.
template <typename Body>
Status forIndices(std::string_view kernel, const Operand &indices, const Operand &table, const Operand &values, int dim,
                  Body body) {
  Dims strides = table.strides;
  strides[dim] = 0;
  Status status;
  std::int64_t position = 0;
  LocalRows here(table, dim);
  walk<3>(indices.rank, indices.extent, {indices.strides, strides, values.strides}, [&](auto &at) {
    std::int64_t index = loadInteger(indices.data, indices.dtype, at[0]);
    // In a shard of the table, the ignore_index of a target also finds nothing.
    if (!here.isValid(index) && here.total == here.count && status.isOk())
      status = indexError(kernel, position, index, here.total);
    ++position;
    if (status.isOk())
      body(here.isLocal(index) ? at[1] + (index - here.first) * table.strides[dim] : -1, at[2]);
  });
  return status;
}

} // namespace

Bound argmax(const KernelRequest &request) {
  Check check(request);
  const Operand &x = request.inputs[0];
  SLUICE_ASSIGN_OR_RETURN(int dim, check.dimOf(x));
  Dims kept{};
  for (int d = 0, out = 0; d < x.rank; ++d)
    if (d != dim)
      kept[out++] = x.strides[d];
  if (x.extent[dim] < 1)
    return check.refuse("extents, expected at least 1 in dim ", dim, " but got 0");
  return makeKernel(request, [dim, kept](Call &call) {
    const Operand &x = call.inputs[0], &y = call.outputs[0];
    walk<2>(y.rank, y.extent, {kept, y.strides}, [&](auto &at) {
      std::int64_t best = 0;
      double most = load(x, at[0]);
      for (std::int64_t i = 1; i < x.extent[dim]; ++i) {
        double value = load(x, at[0] + i * x.strides[dim]);
        if (value > most || (value != value && most == most)) {
          most = value;
          best = i;
        }
      }
      y.as<std::int64_t>()[at[1]] = best;
    });
    return Status::ok();
  });
}

Bound take_along(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(int dim, checkAlong(request, request.inputs[0], request.outputs[0]));
  return makeKernel(request, [dim](Call &call) {
    const Operand &table = call.inputs[0], &y = call.outputs[0];
    return forIndices("take_along", call.inputs[1], table, y, dim,
                      [&](std::int64_t from, std::int64_t to) { store(y, to, from < 0 ? 0 : load(table, from)); });
  });
}

Bound add_along(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(int dim, checkAlong(request, request.outputs[0], request.inputs[0]));
  return makeKernel(request, [dim](Call &call) {
    const Operand &updates = call.inputs[0], &y = call.outputs[0];
    walk<1>(y.rank, y.extent, {y.strides}, [&](auto &at) { store(y, at[0], 0); });
    return forIndices("add_along", call.inputs[1], y, updates, dim, [&](std::int64_t to, std::int64_t from) {
      if (to >= 0)
        store(y, to, load(y, to) + load(updates, from));
    });
  });
}

} // namespace sluice::cpu::reference
