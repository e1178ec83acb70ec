//===- When.h - in which repetitions an op of a section is issued -----------------===//
//
// A word (first, not_first, last, not_last; none or `all`: in every one) or a list of repetitions, as "0,2,5",
// increasing. The spmd and the plan dialect write it in one way, which is read here alone.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_RULES_WHEN_H
#define SLUICE_DIALECT_RULES_WHEN_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sluice {

/// The repetitions of a list; nothing for words and for what is no list.
inline std::optional<llvm::SmallVector<std::int64_t>> listedRepetitions(llvm::StringRef when) {
  llvm::SmallVector<std::int64_t> listed;
  llvm::SmallVector<llvm::StringRef> parts;
  when.split(parts, ',');
  for (llvm::StringRef part : parts) {
    std::int64_t repetition = 0;
    if (part.getAsInteger(10, repetition) || repetition < 0 || (!listed.empty() && repetition <= listed.back()))
      return std::nullopt;
    listed.push_back(repetition);
  }
  return listed;
}

inline bool isWhen(llvm::StringRef when) {
  return when == "all" || when == "first" || when == "not_first" || when == "last" || when == "not_last" ||
         listedRepetitions(when);
}

inline bool isIssuedIn(llvm::StringRef when, std::int64_t repetition, std::int64_t repeat) {
  if (when.empty() || when == "all")
    return true;
  if (when == "first" || when == "not_first")
    return (repetition == 0) == (when == "first");
  if (when == "last" || when == "not_last")
    return (repetition + 1 == repeat) == (when == "last");
  auto listed = listedRepetitions(when);
  return listed && llvm::is_contained(*listed, repetition);
}

/// The word or list that says just these repetitions, increasing and at least one; `all` for every one.
inline std::string writeWhen(llvm::ArrayRef<std::int64_t> repetitions, std::int64_t repeat) {
  auto count = static_cast<std::int64_t>(repetitions.size());
  if (count == repeat)
    return "all";
  if (count == 1 && repetitions.front() == 0)
    return "first";
  if (count == 1 && repetitions.front() == repeat - 1)
    return "last";
  if (count == repeat - 1 && repetitions.front() == 1)
    return "not_first";
  if (count == repeat - 1 && repetitions.back() == repeat - 2)
    return "not_last";
  std::string text;
  for (std::int64_t repetition : repetitions) {
    text += text.empty() ? "" : ",";
    text += std::to_string(repetition);
  }
  return text;
}

} // namespace sluice

#endif // SLUICE_DIALECT_RULES_WHEN_H
