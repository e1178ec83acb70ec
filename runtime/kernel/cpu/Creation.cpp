//===- Creation.cpp - random tensors -------------------------------------------===//
//
// Random rows are drawn as the reference draws elements, by their global index; neighbours that share a block of four
// words or a pair of deviates compute it once.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/GlobalIndex.h"
#include "runtime/kernel/cpu/Parallel.h"
#include "runtime/kernel/cpu/Philox.h"

namespace sluice::cpu {
namespace {

/// Words of the random stream in order, four to a block.
struct Words {
  std::uint64_t seed, key, current = ~std::uint64_t(0);
  PhiloxBlock block{};
  const PhiloxBlock &at(std::uint64_t index) {
    if (index / 4 != current)
      block = philox(seed, key, current = index / 4);
    return block;
  }
};

struct Uniform {
  template <typename Store> static void draw(Words words, std::uint64_t index, std::int64_t count, Store store) {
    for (std::int64_t i = 0; i < count; ++i, ++index)
      store(i, philoxUniform(words.at(index), static_cast<int>(index % 4)));
  }
};
struct Normal {
  template <typename Store> static void draw(Words words, std::uint64_t index, std::int64_t count, Store store) {
    for (std::int64_t i = 0; i < count;) {
      const PhiloxBlock &block = words.at(index);
      auto word = static_cast<int>(index % 4);
      if (word % 2 == 0 && i + 1 < count) {
        std::array<double, 2> pair = philoxNormals(block, word);
        store(i, pair[0]), store(i + 1, pair[1]);
        i += 2, index += 2;
      } else {
        store(i++, philoxNormal(block, word));
        ++index;
      }
    }
  }
};

/// y = offset + spread * deviate, for rows of contiguous elements, which are contiguous in the global tensor too.
template <typename Deviates> Bound random(const KernelRequest &request, double offset, double spread) {
  if (!contiguousRows(request.outputs[0]) || request.outputs[0].rank == 0)
    return useReference();
  auto key = static_cast<std::uint64_t>(request.attributes->integer("key"));
  ZeroElements zeros(request);
  return makeKernel(request, [=](Call &call) {
    const Operand &y = call.outputs[0];
    const RandomStream stream(call, key);
    Rows rows(y);
    const GlobalIndex &global = stream.index;
    // An operand whose offsets are the indices.
    Operand indices = y;
    indices.strides = global.strides;
    forEach(call.threads, rows.rows, [&](std::int64_t row) {
      std::uint64_t index = global.first + static_cast<std::uint64_t>(offsetOf(indices, 0, y.rank - 1, row));
      std::int64_t to = rows.offset(row);
      Deviates::draw(Words{stream.seed, stream.key}, index, rows.columns,
                     [&](std::int64_t i, double deviate) { store(y, to + i, offset + spread * deviate); });
      zeros.forEachIn(static_cast<std::int64_t>(index), rows.columns, [&](std::int64_t i) { store(y, to + i, 0); });
    });
    return Status::ok();
  });
}

} // namespace

Bound fast::random_normal(const KernelRequest &request) {
  return random<Normal>(request, request.attributes->number("mean"), request.attributes->number("stddev"));
}

Bound fast::random_uniform(const KernelRequest &request) {
  double low = request.attributes->number("low");
  return random<Uniform>(request, low, request.attributes->number("high") - low);
}

} // namespace sluice::cpu
