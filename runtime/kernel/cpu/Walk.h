//===- Walk.h - iteration over strided windows --------------------------------===//
//
// Offsets are in elements from the operand's data pointer. Order is row-major over the extents.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_WALK_H
#define SLUICE_RUNTIME_KERNEL_CPU_WALK_H

#include "runtime/kernel/Kernel.h"
#include "runtime/kernel/cpu/Numbers.h"

namespace sluice::cpu {

using Dims = std::array<std::int64_t, maxRank>;

inline double load(const Operand &operand, std::int64_t offset) {
  return loadNumber(operand.data, operand.dtype, offset);
}
inline void store(const Operand &operand, std::int64_t offset, double value) {
  storeNumber(operand.data, operand.dtype, offset, value);
}
/// Stores the value; with `adds` then adds the element that was there, with the bits of a separate `accumulate`.
inline void storeResult(const Operand &operand, std::int64_t offset, double value, bool adds) {
  const double before = adds ? load(operand, offset) : 0;
  store(operand, offset, value);
  if (adds)
    store(operand, offset, before + load(operand, offset));
}

/// Strides of `operand` over the dims of `frame`, aligned at the last one; 0 where the operand repeats.
inline Dims broadcastStrides(const Operand &operand, const Operand &frame) {
  Dims strides{};
  for (int d = 0; d < operand.rank; ++d)
    if (operand.extent[d] != 1)
      strides[frame.rank - operand.rank + d] = operand.strides[d];
  return strides;
}

inline bool sameExtent(const Operand &a, const Operand &b) {
  if (a.rank != b.rank)
    return false;
  for (int d = 0; d < a.rank; ++d)
    if (a.extent[d] != b.extent[d])
      return false;
  return true;
}

/// Calls body(offsets) for each index of `extent`, offsets[n] being the index's inner product with strides[n].
template <std::size_t N, typename Body>
void walk(int rank, const Dims &extent, const std::array<Dims, N> &strides, Body body) {
  for (int d = 0; d < rank; ++d)
    if (extent[d] == 0)
      return;
  std::array<std::int64_t, N> offsets{};
  Dims index{};
  while (true) {
    body(offsets);
    int d = rank - 1;
    for (; d >= 0; --d) {
      if (++index[d] < extent[d]) {
        for (std::size_t n = 0; n < N; ++n)
          offsets[n] += strides[n][d];
        break;
      }
      for (std::size_t n = 0; n < N; ++n)
        offsets[n] -= strides[n][d] * (extent[d] - 1);
      index[d] = 0;
    }
    if (d < 0)
      return;
  }
}

/// Product of the extents of dims [begin, end).
inline std::int64_t extentOf(const Operand &operand, int begin, int end) {
  std::int64_t count = 1;
  for (int d = begin; d < end; ++d)
    count *= operand.extent[d];
  return count;
}

/// Offset of the `number`-th index, row-major, of dims [begin, end).
inline std::int64_t offsetOf(const Operand &operand, int begin, int end, std::int64_t number) {
  std::int64_t offset = 0;
  for (int d = end - 1; d >= begin; --d) {
    offset += number % operand.extent[d] * operand.strides[d];
    number /= operand.extent[d];
  }
  return offset;
}

/// The `number`-th element, row-major.
inline double loadAt(const Operand &operand, std::int64_t number) {
  return load(operand, offsetOf(operand, 0, operand.rank, number));
}
inline std::int64_t integerAt(const Operand &operand, std::int64_t number) {
  return loadInteger(operand.data, operand.dtype, offsetOf(operand, 0, operand.rank, number));
}
inline void storeAt(const Operand &operand, std::int64_t number, double value) {
  store(operand, offsetOf(operand, 0, operand.rank, number), value);
}

/// An operand as rows of its last dim. A scalar is one row of one element.
struct Rows {
  const Operand *operand;
  std::int64_t rows, columns, stride;
  /// Distance of rows if it is constant; -1 otherwise.
  std::int64_t pitch = 0;
  explicit Rows(const Operand &o)
      : operand(&o), rows(o.rank ? extentOf(o, 0, o.rank - 1) : 1), columns(o.rank ? o.extent[o.rank - 1] : 1),
        stride(o.rank ? o.strides[o.rank - 1] : 1) {
    std::int64_t seen = 1;
    for (int d = o.rank - 2; d >= 0; --d) {
      if (o.extent[d] == 1)
        continue;
      if (seen == 1)
        pitch = o.strides[d];
      else if (o.strides[d] != pitch * seen)
        pitch = -1;
      if (pitch < 0)
        break;
      seen *= o.extent[d];
    }
  }
  std::int64_t offset(std::int64_t row) const {
    return pitch >= 0 ? row * pitch : offsetOf(*operand, 0, operand->rank - 1, row);
  }
  template <typename T> T *at(std::int64_t row) const { return operand->as<T>() + offset(row); }
  double load(std::int64_t row, std::int64_t column) const {
    return cpu::load(*operand, offset(row) + column * stride);
  }
  void store(std::int64_t row, std::int64_t column, double value) const {
    cpu::store(*operand, offset(row) + column * stride, value);
  }
};

/// True where the elements of each row of the last dim are neighbours.
inline bool contiguousRows(const Operand &o) {
  return o.rank == 0 || o.extent[o.rank - 1] <= 1 || o.strides[o.rank - 1] == 1;
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_WALK_H
