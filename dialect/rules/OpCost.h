//===- OpCost.h - cost of an op ------------------------------------------------===//
#ifndef SLUICE_DIALECT_RULES_OPCOST_H
#define SLUICE_DIALECT_RULES_OPCOST_H

#include <cstdint>

namespace sluice {

/// Floating-point operations, and the least number of bytes read and written. A view costs nothing.
struct OpCost {
  std::uint64_t flops = 0;
  std::uint64_t bytes = 0;
};

} // namespace sluice

#endif // SLUICE_DIALECT_RULES_OPCOST_H
