//===- JsonOptions.h - options in a JSON object ----------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_JSONOPTIONS_H
#define SLUICE_RUNTIME_BASE_JSONOPTIONS_H

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Reads members by their names, each into a value that keeps its default without the member. The first error is kept
/// for finish(), which also finds members that no read() has named.
class JsonOptions {
public:
  /// `text` is a JSON object; empty: one without members. `what` is for messages: "session options".
  JsonOptions(std::string_view text, std::string what);
  ~JsonOptions();

  void read(std::string_view name, bool &value);
  void read(std::string_view name, std::string &value);
  void read(std::string_view name, double &value);
  void read(std::string_view name, std::optional<double> &value);
  /// Integers from `least`; the value has room for them.
  void read(std::string_view name, std::uint64_t &value, std::uint64_t least = 0, std::uint64_t most = INT64_MAX);
  void read(std::string_view name, std::int64_t &value, std::int64_t least);
  void read(std::string_view name, std::optional<std::int64_t> &value, std::int64_t least);
  void read(std::string_view name, int &value);
  void read(std::string_view name, std::vector<std::string> &value);
  void read(std::string_view name, std::vector<std::int64_t> &value);
  /// An object with integers from `least`, or with texts.
  void read(std::string_view name, std::map<std::string, std::int64_t> &value, std::int64_t least);
  void read(std::string_view name, std::map<std::string, std::string> &value);
  /// One of the texts.
  void readChoice(std::string_view name, std::string &value, const std::vector<std::string> &choices);
  /// Any value as JSON; null without the member.
  Json take(std::string_view name);

  /// A usage error for a text that is no JSON object, for a member of another kind, and for an unknown one, with the
  /// nearest known name.
  Status finish();

private:
  /// Null without the member.
  const Json *find(std::string_view name);
  void refuse(std::string_view name, std::string_view expected, const Json &got);
  void fail(std::string message);

  std::unique_ptr<Json> object;
  const std::string what;
  std::vector<std::string> known;
  Status failure;
};

/// The one of `known`, which is not empty, with the fewest changes of a character to `name`.
const std::string &nearestName(std::string_view name, const std::vector<std::string> &known);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_JSONOPTIONS_H
