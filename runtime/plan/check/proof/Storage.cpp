//===- Storage.cpp - the element types in which numbers were stored --------------------------===//
#include "runtime/plan/check/proof/Storage.h"

namespace sluice::check::proof {

Storage::Storage(plan::DType dtype) {
  switch (dtype) {
  case plan::DType::f64:
    break;
  case plan::DType::f32:
    bits = 1;
    break;
  case plan::DType::bf16:
    bits = 1 | 2;
    break;
  case plan::DType::f16:
    bits = 1 | 4;
    break;
  default:
    bits = std::uint8_t(integers + std::uint8_t(dtype));
  }
}

std::string Storage::text() const {
  if (isInteger())
    return plan::EnumNameDType(plan::DType(bits - integers));
  return bits >= 6 ? "bf16 and f16" : bits >= 4 ? "f16" : bits >= 2 ? "bf16" : bits == 1 ? "f32" : "f64";
}

} // namespace sluice::check::proof
