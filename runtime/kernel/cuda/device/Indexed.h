//===- Indexed.h - rows and elements by index --------------------------------------------------===//
//
// An index outside the table reads NaN (integers: 0) and adds nothing: a kernel never accesses memory outside its
// operands. In a sharded table a row of a different rank reads 0 and adds nothing. SortedRows.h adds rows.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_INDEXED_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_INDEXED_H

#include "runtime/kernel/cuda/device/Pointwise.h"

namespace sluice::cuda {

struct IndexedArgs {
  /// The table (or the sum), the indices, and the values, whose dims are those of the indices, then those of a row.
  View table, indices, values;
  /// A row of the table, and of the values.
  View row, valueRow;
  Index count = 0, rowElements = 0;
  /// The indexed dim.
  int dim = 0;
  /// Along the indexed dim: the first local row of the table, and the extent of the unsharded table.
  Index first = 0, total = 0;
  /// An index that adds nothing.
  Index skipped = -1;

  SLUICE_DEVICE bool isValid(Index index) const { return index >= 0 && index < total; }
  /// The local row of an index; -1 if the row is not local.
  SLUICE_DEVICE Index placeOf(Index index) const {
    return index >= first && index < first + table.extent[dim] ? index - first : -1;
  }
};

SLUICE_DEVICE void writeMissing(const View &view, Index at) {
  if (isFloatType(view.type))
    writeAny(view, at, static_cast<double>(floatOfBits(0x7fc00000u)));
  else
    writeInteger(view, at, 0);
}

/// values[i] = table[indices[i]]
SLUICE_DEVICE void takeRows(const IndexedArgs &args, Lane lane) {
  const Index total = args.count * args.rowElements, step = lane.blocks() * lane.threads();
  for (Index n = lane.block() * lane.threads() + lane.thread(); n < total; n += step) {
    const Index i = n / args.rowElements, c = n % args.rowElements;
    const Index index = readInteger(args.indices, offsetIn(args.indices, args.indices.rank, i));
    const Index to = offsetIn(args.values, args.indices.rank, i) + offsetIn(args.valueRow, args.valueRow.rank, c);
    const Index place = args.placeOf(index);
    if (!args.isValid(index))
      writeMissing(args.values, to);
    else if (place < 0)
      writeAny(args.values, to, 0);
    else
      moveElement(args.values, to, args.table, place * args.table.strides[0] + offsetIn(args.row, args.row.rank, c));
  }
}

/// table = 0
SLUICE_DEVICE void clearRows(const IndexedArgs &args, Lane lane) {
  const Index total = countOf(args.table), step = lane.blocks() * lane.threads();
  for (Index n = lane.block() * lane.threads() + lane.thread(); n < total; n += step)
    writeAny(args.table, offsetIn(args.table, args.table.rank, n), 0);
}

/// values[..i..] = table[..indices[..i..]..] along a dim
SLUICE_DEVICE void takeAlong(const IndexedArgs &args, Lane lane) {
  const Index total = countOf(args.indices), step = lane.blocks() * lane.threads();
  for (Index n = lane.block() * lane.threads() + lane.thread(); n < total; n += step) {
    Index strides[viewRank];
    for (int d = 0; d < args.table.rank; ++d)
      strides[d] = d == args.dim ? 0 : args.table.strides[d];
    const Index index = readInteger(args.indices, offsetIn(args.indices, args.indices.rank, n));
    const Index to = offsetIn(args.values, args.values.rank, n);
    const Index place = args.placeOf(index);
    // In a shard an invalid index (a target that does not count) also reads 0.
    if (!args.isValid(index) && args.total == args.table.extent[args.dim])
      writeMissing(args.values, to);
    else if (place < 0)
      writeAny(args.values, to, 0);
    else
      moveElement(args.values, to, args.table,
                  offsetOver(strides, args.indices, n) + place * args.table.strides[args.dim]);
  }
}

/// table[..indices[..i..]..] += values[..i..]: one thread per line along the dim, in order. `row` has the indices'
/// extents with that dim as 1.
SLUICE_DEVICE void addAlong(const IndexedArgs &args, Lane lane) {
  const Index line = lane.block() * lane.threads() + lane.thread();
  if (line >= args.count)
    return;
  const Index inIndices = offsetOver(args.indices.strides, args.row, line);
  const Index inValues = offsetOver(args.values.strides, args.row, line);
  const Index inTable = offsetOver(args.table.strides, args.row, line);
  for (Index i = 0; i < args.indices.extent[args.dim]; ++i) {
    const Index index = readInteger(args.indices, inIndices + i * args.indices.strides[args.dim]);
    const Index place = args.placeOf(index);
    if (place < 0)
      continue;
    const Index to = inTable + place * args.table.strides[args.dim];
    writeAny(args.table, to,
             readAny(args.table, to) + readAny(args.values, inValues + i * args.values.strides[args.dim]));
  }
}

/// The first maximum along a dim: one thread per result. `row` has the kept dims with the table's strides.
SLUICE_DEVICE void argmax(const IndexedArgs &args, Lane lane) {
  const Index output = lane.block() * lane.threads() + lane.thread();
  if (output >= args.count)
    return;
  const Index at = offsetIn(args.row, args.row.rank, output);
  Index best = 0;
  double most = readAny(args.table, at);
  for (Index i = 1; i < args.table.extent[args.dim]; ++i) {
    const double value = readAny(args.table, at + i * args.table.strides[args.dim]);
    if (value > most || (value != value && most == most)) {
      most = value;
      best = i;
    }
  }
  static_cast<Index *>(args.values.data)[offsetIn(args.values, args.values.rank, output)] = best;
}

} // namespace sluice::cuda

#define SLUICE_INDEXED_KERNELS(X)                                                                                      \
  X(sluice_takeRows, takeRows, IndexedArgs)                                                                            \
  X(sluice_clearRows, clearRows, IndexedArgs)                                                                          \
  X(sluice_takeAlong, takeAlong, IndexedArgs)                                                                          \
  X(sluice_addAlong, addAlong, IndexedArgs)                                                                            \
  X(sluice_argmax, argmax, IndexedArgs)

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_INDEXED_H
