//===- Key.h - bytes that identify a value of the unsharded program ---------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_PROOF_KEY_H
#define SLUICE_RUNTIME_PLAN_CHECK_PROOF_KEY_H

#include "runtime/plan/check/proof/Numbering.h"

#include <bit>

namespace sluice::check::proof {

/// Bytes that are equal exactly for equal parts, because each part states where it ends.
class Key {
public:
  explicit Key(std::string_view kind) {
    // Of most keys.
    bytes.reserve(96);
    add(kind);
  }
  Key &add(std::string_view part) { return append(part.size()), bytes += part, *this; }
  Key &add(std::int64_t number) { return append(std::uint64_t(number)), *this; }
  Key &add(double number) {
    // The last bits of most numbers are zeros.
    const auto bits = std::bit_cast<std::uint64_t>(number);
    append(bits == 0 ? 64 : std::uint64_t(std::countr_zero(bits)));
    append(bits == 0 ? 0 : bits >> std::countr_zero(bits));
    return *this;
  }
  Key &add(std::span<const std::int64_t> list) {
    append(list.size());
    for (std::int64_t number : list)
      add(number);
    return *this;
  }
  Key &add(const Value &value) {
    add(std::int64_t(value.root)).add(value.coefficient).add(value.stored.number()).add(value.at.base);
    add(std::int64_t(value.at.dims.size()));
    for (const Digits &dim : value.at.dims) {
      const Digits digits = joined(dim);
      append(digits.size());
      for (const Digit &digit : digits)
        add(digit.extent).add(digit.step);
    }
    return *this;
  }
  std::string take() { return std::move(bytes); }

private:
  /// Seven bits a byte, the lowest first; the highest bit of all bytes but the last is set.
  void append(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7)
      bytes += char(number | 0x80);
    bytes += char(number);
  }
  std::string bytes;
};

} // namespace sluice::check::proof

#endif // SLUICE_RUNTIME_PLAN_CHECK_PROOF_KEY_H
