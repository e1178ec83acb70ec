//===- StartValues.cpp - settings that all ranks must have alike -------------------===//
#include "runtime/collective/process/StartValues.h"
#include "runtime/base/Text.h"
#include "runtime/collective/BroadcastText.h"

#include <algorithm>

namespace sluice {
namespace {

Result<std::int64_t> largestOf(Communicator &all, std::int64_t value) {
  const SegmentPointers segment{&value, &value, 1};
  SLUICE_RETURN_IF_ERROR(all.allReduce({&segment, 1}, DType::i64, Reduction::max, 1, {0, "first rank"}, nullptr));
  return value;
}

/// The next text of a list in which each ends with a zero byte.
std::string take(std::string_view &list) {
  const std::size_t end = std::min(list.find('\0'), list.size());
  std::string text(list.substr(0, end));
  list.remove_prefix(std::min(end + 1, list.size()));
  return text;
}

} // namespace

Status compareStartValues(World &world, int rank, std::span<const StartValue> values) {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> all, world.createForAll(rank, "start"));
  std::string expected;
  if (rank == 0)
    for (const StartValue &value : values)
      expected.append(value.name).append(1, '\0').append(value.value).append(1, '\0');
  SLUICE_RETURN_IF_ERROR(broadcastText(*all, 0, expected, "settings"));

  std::string message;
  std::int64_t code = 0;
  std::string_view rest = expected;
  for (const StartValue &value : values) {
    const std::string name = take(rest), other = take(rest);
    if (name == value.name && other == value.value)
      continue;
    message = name == value.name
                  ? concat(name, ", expected '", other, "' as on rank 0 but got '", value.value, "' on rank ", rank)
                  : concat("settings of sluice-train, expected '", name, "' as on rank 0 but got '", value.name,
                           "' on rank ", rank);
    code = static_cast<std::int64_t>(value.code);
    break;
  }
  // The lowest rank that differs reports.
  const auto size = static_cast<std::int64_t>(world.size());
  SLUICE_ASSIGN_OR_RETURN(const std::int64_t differs, largestOf(*all, message.empty() ? 0 : size - rank));
  if (differs == 0)
    return {};
  SLUICE_RETURN_IF_ERROR(broadcastText(*all, static_cast<int>(size - differs), message, "message"));
  SLUICE_ASSIGN_OR_RETURN(const std::int64_t first, largestOf(*all, rank == size - differs ? code : 0));
  return Status(static_cast<StatusCode>(first), std::move(message)).withNote("start all ranks with the same settings");
}

} // namespace sluice
