//===- JinjaWork.h - the limit of a template's work --------------------------------------------===//
#ifndef SLUICE_RUNTIME_TEXT_JINJAWORK_H
#define SLUICE_RUNTIME_TEXT_JINJAWORK_H

#include "runtime/base/Json.h"
#include "runtime/base/JsonDepth.h"
#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace sluice::text {

/// Counts the work of rendering a template, so that it can neither run forever nor exhaust the memory.
class JinjaWork {
public:
  /// One value or statement with a text of `bytes`. An error if the work is too much.
  Status add(std::uint64_t bytes) {
    count += 1 + bytes / bytesOfWork;
    return count > most ? inputError("the template takes too long, or its values are too large") : Status::ok();
  }
  /// A value and its members. Copies of values are recursive, so one that nests deeper than JSON is an error too.
  Status addValue(const Json &value, std::size_t depth = 0) {
    if (depth > deepestJson)
      return inputError("a value nests too deeply");
    if (value.is_string())
      return add(value.get_ref<const std::string &>().size());
    SLUICE_RETURN_IF_ERROR(add(0));
    if (value.is_structured())
      for (const Json &member : value)
        SLUICE_RETURN_IF_ERROR(addValue(member, depth + 1));
    return Status::ok();
  }

private:
  /// An expression, a statement, a member of a value or 4 KiB of text count 1. A long conversation needs a fraction of
  /// the limit.
  static constexpr std::uint64_t most = 1 << 19, bytesOfWork = 4096;
  std::uint64_t count = 0;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_JINJAWORK_H
