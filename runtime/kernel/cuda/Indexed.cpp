//===- Indexed.cpp - embedding, gather and their derivatives on a GPU -------------------------------------===//
#include "runtime/kernel/catalogue/CudaWorkspace.h"
#include "runtime/kernel/cuda/Prepare.h"
#include "runtime/kernel/cuda/device/SortedRows.h"

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

/// True if the rows of both are neighbours in memory, of a multiple of 16 bytes.
bool haveVectors(const Operand &table, const Operand &values, std::int64_t rowElements) {
  const auto bytes = static_cast<std::int64_t>(dtypeBytes(table.dtype));
  return table.dtype == values.dtype && table.isDense() && values.isDense() && rowElements * bytes % vectorBytes == 0 &&
         values.elements() < std::int64_t(1) << 31 && rowElements > 0;
}

/// Elements of a vector over both.
std::int64_t widthOf(const Operand &a, const Operand &b) {
  return vectorBytes / static_cast<std::int64_t>(std::max(dtypeBytes(a.dtype), dtypeBytes(b.dtype)));
}

/// By the kernel of dense rows; null if the operands do not fit it.
Bound takeVectors(const KernelRequest &request, const IndexedLaunch &launch) {
  const Operand &table = request.inputs[0], &indices = request.inputs[1], &values = request.outputs[0];
  const IndexedArgs &args = launch.args;
  if (!indices.isDense() || !haveVectors(table, values, args.rowElements))
    return std::unique_ptr<BoundKernel>();
  TakeRowsArgs rows;
  rows.indexed = args;
  rows.count = static_cast<unsigned>(args.count);
  rows.elements = static_cast<unsigned>(args.rowElements);
  rows.vectors =
      static_cast<unsigned>(args.rowElements * static_cast<std::int64_t>(dtypeBytes(table.dtype)) / vectorBytes);
  return oneLaunch(request, "sluice_takeRowsDense", gridFor(*request.cuda, args.count * warpSize), rows,
                   [bind = launch.bind](TakeRowsArgs &args, const RunAddresses &run) { bind(args.indexed, run); });
}

Bound take(const KernelRequest &request) {
  const IndexedLaunch launch = rowsOf(request, true);
  return whereAligned(takeVectors(request, launch),
                      oneLaunch(request, "sluice_takeRows",
                                gridFor(*request.cuda, launch.args.count * launch.args.rowElements), launch.args,
                                launch.bind));
}

void addClear(LaunchList &list, const IndexedLaunch &launch) {
  list.add("sluice_clearRows", gridFor(list.owner(), countOf(launch.args.table)), launch.args, launch.bind);
}

/// The kernels of a type, "sumTiles_bf16" or "sumTilesDense_bf16_f32" say.
std::string rowsSymbol(const std::string &function, const std::string &pair, const KernelRequest &request) {
  return pair.empty() ? symbol(function, {&request.inputs[0], &request.outputs[0]})
                      : "sluice_" + function + "Dense_" + pair;
}

/// `padding`: the index whose updates add nothing; -1: no index. `pair`: the types of dense rows, or empty.
Bound addRowsOf(std::int64_t padding, const KernelRequest &request, const std::string &pair) {
  const IndexedLaunch launch = rowsOf(request, false);
  const Operand &values = request.inputs[0], &table = request.outputs[0];
  SortedRowsArgs args;
  args.indexed = launch.args;
  args.indexed.skipped = padding;
  args.indices = joined(args.indexed.indices, args.indexed.indices.rank);
  args.count = static_cast<unsigned>(launch.args.count);
  args.rows = static_cast<unsigned>(table.rank ? table.extent[0] : 0);
  args.elements = static_cast<unsigned>(launch.args.rowElements);
  args.tiles = (args.count + tilePositions - 1) / tilePositions;
  args.adds = request.adds[0];
  while (args.digits < 4 && args.rows >> (8 * args.digits) != 0)
    ++args.digits;
  const bool wide = pair.empty() && policyOf({&values, &table}) == "wide";
  const SortedRowsWorkspace space(launch.args.count, args.rows, launch.args.rowElements, wide ? 8 : 4);
  SLUICE_RETURN_IF_ERROR(cpu::Check(request).workspace(space.bytes()));
  const Bind<SortedRowsArgs> bind = [base = launch.bind, space](SortedRowsArgs &args, const RunAddresses &run) {
    base(args.indexed, run);
    args.indices.data = args.indexed.indices.data;
    char *memory = static_cast<char *>(run.workspace);
    args.sorted = reinterpret_cast<SortedPosition *>(memory);
    args.other = reinterpret_cast<SortedPosition *>(memory + space.list);
    args.counts = reinterpret_cast<unsigned *>(memory + 2 * space.list);
    args.parts = memory + 2 * space.list + space.counts;
  };
  const std::int64_t vectors = launch.args.rowElements / (pair.empty() ? 1 : widthOf(values, table));
  const int threads =
      static_cast<int>(std::clamp<std::int64_t>((vectors + warpSize - 1) / warpSize * warpSize, 32, 256));
  LaunchList list(*request.cuda);
  // A position for each thread of the sort, unless the counts of as many blocks need too much memory.
  const auto most = static_cast<unsigned>(space.counts / (sortDigits * 4));
  const unsigned wanted = std::clamp((args.count + sortThreads - 1) / sortThreads, 1u, std::max(most, 1u));
  args.share = ((args.count + wanted - 1) / wanted + sortThreads - 1) / sortThreads * sortThreads;
  args.shares = args.share == 0 ? 1 : (args.count + args.share - 1) / args.share;
  for (; args.step < args.digits; ++args.step) {
    if (args.shares > 1)
      list.add("sluice_countPositions", {args.shares, sortThreads, sortShared}, args, bind);
    list.add("sluice_sortPositions", {args.shares, sortThreads, sortShared}, args, bind);
  }
  // No sum of rows is -0, to which an addition of 0 would give another sign.
  const unsigned clearing =
      args.adds ? 0 : (args.rows + static_cast<unsigned>(threads) - 1) / static_cast<unsigned>(threads);
  list.add(rowsSymbol("sumTiles", pair, request), {args.tiles + clearing, threads, sumTilesShared}, args, bind);
  list.add(rowsSymbol("sumParts", pair, request), {args.tiles, threads, 0}, args, bind);
  return std::move(list).finish();
}

Bound addRows(std::int64_t padding, const KernelRequest &request) {
  const Operand &values = request.inputs[0], &table = request.outputs[0];
  const std::string pair = storedPair(values, table);
  const std::int64_t elements = table.rank && table.extent[0] ? table.elements() / table.extent[0] : 0;
  const bool haveVectors = !pair.empty() && elements > 0 && elements % widthOf(values, table) == 0;
  return whereAligned(haveVectors ? addRowsOf(padding, request, pair) : std::unique_ptr<BoundKernel>(),
                      addRowsOf(padding, request, ""));
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
