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

struct IndexedLaunch {
  IndexedArgs args;
  Bind<IndexedArgs> bind;
};

/// Reads the table at indices if `reads`, else adds to it; the shard of the table is along `dim`.
IndexedLaunch launchOf(const KernelRequest &request, bool reads, int dim) {
  using A = IndexedArgs;
  IndexedLaunch launch;
  A &args = launch.args;
  launch.bind = reads ? bindViews(args, request, {&A::table, &A::indices}, {&A::values})
                      : bindViews(args, request, {&A::values, &A::indices}, {&A::table});
  const Operand &table = reads ? request.inputs[0] : request.outputs[0];
  args.dim = dim;
  args.first = table.origin[dim];
  args.total = std::max(table.global[dim], table.extent[dim]);
  return launch;
}

/// The same with rows of the table.
IndexedLaunch rowsOf(const KernelRequest &request, bool reads) {
  IndexedLaunch launch = launchOf(request, reads, 0);
  IndexedArgs &args = launch.args;
  args.row = tailOf(args.table, 1);
  args.valueRow = tailOf(args.values, args.indices.rank);
  args.count = request.inputs[1].elements();
  args.rowElements = countOf(args.row);
  return launch;
}

Bound take(const KernelRequest &request) {
  const auto [args, bind] = rowsOf(request, true);
  return oneLaunch(request, "sluice_takeRows", gridFor(*request.cuda, args.count * args.rowElements), args, bind);
}

void addClear(LaunchList &list, const IndexedLaunch &launch) {
  list.add("sluice_clearRows", gridFor(list.owner(), countOf(launch.args.table)), launch.args, launch.bind);
}

/// `padding`: the index whose updates add nothing; -1: no index.
Bound addRows(std::int64_t padding, const KernelRequest &request) {
  IndexedLaunch launch = rowsOf(request, false);
  launch.args.skipped = padding;
  LaunchList list(*request.cuda);
  addClear(list, launch);
  constexpr int threads = 256;
  list.add("sluice_addRows",
           {static_cast<std::uint64_t>(launch.args.count), threads, reduceBytes + threads / warpSize * 4}, launch.args,
           launch.bind);
  return std::move(list).finish();
}

int dimOf(const KernelRequest &request) { return static_cast<int>(request.attributes->integer("dim")); }

} // namespace

Bound kernels::gather(const KernelRequest &request) { return take(request); }
Bound kernels::embedding(const KernelRequest &request) { return take(request); }
Bound kernels::scatter_add(const KernelRequest &request) { return addRows(-1, request); }
Bound kernels::embedding_grad(const KernelRequest &request) {
  return addRows(request.attributes->integer("padding"), request);
}

Bound kernels::take_along(const KernelRequest &request) {
  const auto [args, bind] = launchOf(request, true, dimOf(request));
  return oneLaunch(request, "sluice_takeAlong", gridFor(*request.cuda, request.inputs[1].elements()), args, bind);
}

Bound kernels::add_along(const KernelRequest &request) {
  IndexedLaunch launch = launchOf(request, false, dimOf(request));
  IndexedArgs &args = launch.args;
  args.row = args.indices;
  args.row.extent[args.dim] = 1;
  args.count = request.inputs[1].elements() == 0 ? 0 : countOf(args.row);
  LaunchList list(*request.cuda);
  addClear(list, launch);
  list.add("sluice_addAlong", exactGrid(args.count, 128), args, launch.bind);
  return std::move(list).finish();
}

Bound kernels::argmax(const KernelRequest &request) {
  IndexedArgs args;
  const auto bind = bindViews(args, request, {&IndexedArgs::table}, {&IndexedArgs::values});
  args.dim = dimOf(request);
  for (int d = 0; d < args.table.rank; ++d)
    if (d != args.dim) {
      args.row.extent[args.row.rank] = args.table.extent[d];
      args.row.strides[args.row.rank++] = args.table.strides[d];
    }
  args.count = countOf(args.row);
  return oneLaunch(request, "sluice_argmax", exactGrid(args.count, 128), args, bind);
}

} // namespace sluice::cuda
