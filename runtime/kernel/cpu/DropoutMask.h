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
  /// The input that is the seed; step and row are after it.
  std::size_t seed = 1;

  /// `attribute`: that of the rate.
  static Result<DropoutMask> of(const KernelRequest &request, std::string_view attribute = "rate",
                                std::size_t seed = 1) {
    Check check(request);
    SLUICE_RETURN_IF_ERROR(check.dtype(request.outputs[0], request.inputs[0].dtype));
    for (std::size_t i = seed; i < seed + 3; ++i) {
      SLUICE_RETURN_IF_ERROR(check.dtype(request.inputs[i], DType::i64));
    }
    double rate = request.attributes->number(attribute);
    if (!(rate >= 0 && rate < 1))
      return check.refuse(attribute, ", expected at least 0 and less than 1 but got ", rate);
    DropoutMask mask;
    mask.seed = seed;
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
  Draws draws(const Call &call) const { return {scalar(call, 0), scalar(call, 1) << 32 | key, threshold}; }
  /// The number of the micro-batch's first row in the step.
  std::uint64_t row(const Call &call) const { return scalar(call, 2); }

private:
  std::uint64_t scalar(const Call &call, std::size_t i) const {
    return static_cast<std::uint64_t>(call.inputs[seed + i].as<std::int64_t>()[0]);
  }
};

/// factors[i] = `factor` if the mask keeps element `index + i` of the step, else 0.
void fillDropoutFactors(const DropoutMask::Draws &draws, float factor, std::uint64_t index, float *factors,
                        std::int64_t count);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_DROPOUTMASK_H
