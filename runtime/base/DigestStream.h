//===- DigestStream.h - a digest that finds damage --------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_DIGESTSTREAM_H
#define SLUICE_RUNTIME_BASE_DIGESTSTREAM_H

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// XXH3 with 128 bits of bytes that are given in parts. It finds damage; it does not protect against a person who
/// changes a file and its digest.
class DigestStream {
public:
  /// Digits of a digest.
  static constexpr std::size_t digits = 32;

  DigestStream();
  void add(std::span<const std::byte> bytes);
  /// Lower-case hexadecimal digits of the bytes so far.
  std::string text() const;

private:
  struct Free {
    void operator()(void *state) const;
  };
  std::unique_ptr<void, Free> state;
};

std::string digestOf(std::string_view text);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_DIGESTSTREAM_H
