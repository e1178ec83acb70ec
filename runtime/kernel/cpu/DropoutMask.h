//===- DropoutMask.h - which elements of a step are kept ----------------------===//
//
// Element i of a step is kept if word i % 4 of Philox block i / 4, keyed by seed, step and the op's key, is a uniform
// number of at least the rate. i is the index in the step: earlier rows times the elements of a row, plus the global
// index in the operand, so the mask does not depend on the sharding. Steps count from 1, so no block is one of the
// initial weights', which use step 0.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_DROPOUTMASK_H
#define SLUICE_RUNTIME_KERNEL_CPU_DROPOUTMASK_H

#include "runtime/kernel/cpu/GlobalIndex.h"
#include "runtime/kernel/cpu/Philox.h"

namespace sluice::cpu {

struct DropoutMask {
  /// In units of 2^-24: smaller numbers are dropped.
  std::uint32_t threshold = 0;
  std::uint64_t key = 0;
  /// The factor of kept elements.
  double factor = 1;

  static Result<DropoutMask> of(const KernelRequest &request) {
    Check check(request);
    SLUICE_RETURN_IF_ERROR(check.dtype(request.outputs[0], request.inputs[0].dtype));
    for (int i = 1; i < 4; ++i) {
      SLUICE_RETURN_IF_ERROR(check.dtype(request.inputs[i], DType::i64));
    }
    double rate = request.attributes->number("rate");
    if (!(rate >= 0 && rate < 1))
      return check.refuse("rate, expected at least 0 and less than 1 but got ", rate);
    DropoutMask mask;
    mask.threshold = static_cast<std::uint32_t>(std::ceil(rate * 0x1p24));
    mask.key = static_cast<std::uint32_t>(request.attributes->integer("key"));
    mask.factor = 1 / (1 - rate);
    return mask;
  }

  /// Draws of one launch.
  struct Draws {
    std::uint64_t seed, stream;
    std::uint32_t threshold;
    PhiloxBlock block(std::uint64_t number) const { return philox(seed, stream, number); }
    bool keeps(const PhiloxBlock &block, std::uint64_t index) const { return block[index % 4] >> 8 >= threshold; }
  };
  Draws draws(const Call &call) const {
    auto scalar = [&](int i) { return static_cast<std::uint64_t>(call.inputs[i].as<std::int64_t>()[0]); };
    return {scalar(1), scalar(2) << 32 | key, threshold};
  }
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_DROPOUTMASK_H
