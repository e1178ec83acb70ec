//===- Indexed.cpp - embedding, gather and their derivatives on a GPU -------------------------------------===//
#include "runtime/kernel/cuda/device/Indexed.h"
#include "runtime/kernel/cuda/Prepare.h"

#include <algorithm>

namespace sluice::cuda {
namespace {

/// Dims of `view` from `first` on.
View tailOf(const View &view, int first) {
  View tail;
  tail.type = view.type;
  tail.rank = view.rank - first;
  for (int d = 0; d < tail.rank; ++d) {
    tail.extent[d] = view.extent[first + d];
    tail.strides[d] = view.strides[first + d];
  }
  return tail;
}

/// Where the part of the table that is here lies along the indexed dim.
void setPart(IndexedArgs &args, const Operand &table) {
  args.first = table.origin[args.dim];
  args.total = std::max(table.global[args.dim], table.extent[args.dim]);
}

IndexedArgs rowsOf(const Operand &table, const Operand &indices, const Operand &values) {
  IndexedArgs args;
  args.table = viewOf(table);
  args.indices = viewOf(indices);
  args.values = viewOf(values);
  args.row = tailOf(args.table, 1);
  args.valueRow = tailOf(args.values, indices.rank);
  args.count = indices.elements();
  args.rowElements = countOf(args.row);
  setPart(args, table);
  return args;
}

Bound take(std::string_view name, const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference(name, request));
  const IndexedArgs args = rowsOf(request.inputs[0], request.inputs[1], request.outputs[0]);
  return oneLaunch<IndexedArgs>(request, "sluice_takeRows", gridFor(*request.cuda, args.count * args.rowElements), args,
                                [](IndexedArgs &args, const RunAddresses &run) {
                                  args.table.data = run.inputs[0];
                                  args.indices.data = run.inputs[1];
                                  args.values.data = run.outputs[0];
                                });
}

void bindAdd(IndexedArgs &args, const RunAddresses &run) {
  args.values.data = run.inputs[0];
  args.indices.data = run.inputs[1];
  args.table.data = run.outputs[0];
}

Status addClear(LaunchList &list, const IndexedArgs &args) {
  return list.add<IndexedArgs>("sluice_clearRows", gridFor(list.owner(), countOf(args.table)), args, bindAdd);
}

/// `padding`: the index whose updates add nothing; -1: no index.
Bound add(std::string_view name, std::int64_t padding, const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference(name, request));
  IndexedArgs args = rowsOf(request.outputs[0], request.inputs[1], request.inputs[0]);
  args.skipped = padding;
  auto list = std::make_unique<LaunchList>(*request.cuda);
  SLUICE_RETURN_IF_ERROR(addClear(*list, args));
  constexpr int threads = 256;
  SLUICE_RETURN_IF_ERROR(list->add<IndexedArgs>(
      "sluice_addRows", {static_cast<std::uint64_t>(args.count), threads, reduceBytes + threads / warpSize * 4}, args,
      bindAdd));
  return std::unique_ptr<BoundKernel>(std::move(list));
}

Bound takeAlongOf(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("take_along", request));
  IndexedArgs args;
  args.table = viewOf(request.inputs[0]);
  args.indices = viewOf(request.inputs[1]);
  args.values = viewOf(request.outputs[0]);
  args.dim = static_cast<int>(request.attributes->integer("dim"));
  setPart(args, request.inputs[0]);
  return oneLaunch<IndexedArgs>(request, "sluice_takeAlong", gridFor(*request.cuda, request.inputs[1].elements()), args,
                                [](IndexedArgs &args, const RunAddresses &run) {
                                  args.table.data = run.inputs[0];
                                  args.indices.data = run.inputs[1];
                                  args.values.data = run.outputs[0];
                                });
}

Bound addAlongOf(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("add_along", request));
  IndexedArgs args;
  args.values = viewOf(request.inputs[0]);
  args.indices = viewOf(request.inputs[1]);
  args.table = viewOf(request.outputs[0]);
  args.dim = static_cast<int>(request.attributes->integer("dim"));
  setPart(args, request.outputs[0]);
  args.row = args.indices;
  args.row.extent[args.dim] = 1;
  args.count = request.inputs[1].elements() == 0 ? 0 : countOf(args.row);
  auto list = std::make_unique<LaunchList>(*request.cuda);
  SLUICE_RETURN_IF_ERROR(addClear(*list, args));
  SLUICE_RETURN_IF_ERROR(list->add<IndexedArgs>("sluice_addAlong", exactGrid(args.count, 128), args, bindAdd));
  return std::unique_ptr<BoundKernel>(std::move(list));
}

Bound argmaxOf(const KernelRequest &request) {
  SLUICE_RETURN_IF_ERROR(checkAsReference("argmax", request));
  IndexedArgs args;
  args.table = viewOf(request.inputs[0]);
  args.values = viewOf(request.outputs[0]);
  args.dim = static_cast<int>(request.attributes->integer("dim"));
  for (int d = 0; d < args.table.rank; ++d)
    if (d != args.dim) {
      args.row.extent[args.row.rank] = args.table.extent[d];
      args.row.strides[args.row.rank++] = args.table.strides[d];
    }
  args.count = countOf(args.row);
  return oneLaunch<IndexedArgs>(request, "sluice_argmax", exactGrid(args.count, 128), args,
                                [](IndexedArgs &args, const RunAddresses &run) {
                                  args.table.data = run.inputs[0];
                                  args.values.data = run.outputs[0];
                                });
}

} // namespace

CudaKernels indexedKernels() {
  static constexpr CudaKernel kernels[] = {
      {KernelId::gather, [](const KernelRequest &request) { return take("gather", request); }},
      {KernelId::embedding, [](const KernelRequest &request) { return take("embedding", request); }},
      {KernelId::scatter_add, [](const KernelRequest &request) { return add("scatter_add", -1, request); }},
      {KernelId::embedding_grad,
       [](const KernelRequest &request) {
         return add("embedding_grad", request.attributes->integer("padding"), request);
       }},
      {KernelId::take_along, takeAlongOf},
      {KernelId::add_along, addAlongOf},
      {KernelId::argmax, argmaxOf},
  };
  return kernels;
}

} // namespace sluice::cuda
