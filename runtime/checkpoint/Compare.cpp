//===- Compare.cpp - the differences between two checkpoints -------------------------===//
#include "runtime/checkpoint/Compare.h"

#include "runtime/base/Json.h"
#include "runtime/kernel/cpu/Numbers.h"
#include "runtime/plan/CheckpointMemory.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace sluice {

static std::string typeText(const CheckpointReader &reader, const std::string &name) {
  const auto found = reader.index().tensors.find(name);
  return found == reader.index().tensors.end()
             ? "no tensor"
             : fmt::format("{} {}", found->second.dtype, shapeText(found->second.shape));
}

/// Empty for equal bits.
static Result<std::string> compareTensor(const CheckpointReader &a, const CheckpointReader &b,
                                         const std::string &name) {
  const IndexTensor &tensor = a.index().tensors.at(name);
  const DType dtype = *dtypeOf(tensor.dtype);
  const std::uint64_t element = dtypeBytes(dtype), total = Box{Extents(tensor.shape.size()), tensor.shape}.elements();
  std::vector<std::byte> first(std::min(checkpointBlock, total * element)), second(first.size());
  std::uint64_t count = 0, where = 0;
  double largest = 0;
  for (std::uint64_t at = 0; at < total;) {
    const std::uint64_t next = std::min(first.size() / element, total - at);
    SLUICE_RETURN_IF_ERROR(a.read(name, at, std::span(first).first(next * element)));
    SLUICE_RETURN_IF_ERROR(b.read(name, at, std::span(second).first(next * element)));
    for (std::uint64_t i = 0; i < next; ++i)
      if (std::memcmp(first.data() + i * element, second.data() + i * element, element) != 0) {
        where = count++ == 0 ? at + i : where;
        largest = std::fmax(
            largest, std::fabs(cpu::loadNumber(first.data(), dtype, i) - cpu::loadNumber(second.data(), dtype, i)));
      }
    at += next;
  }
  if (count == 0)
    return std::string();
  return fmt::format("{} of {} elements differ, by at most {:.6g}, the first is {}", count, total, largest, where);
}

Result<std::vector<CheckpointDifference>> compareCheckpoints(const CheckpointReader &a, const CheckpointReader &b) {
  std::vector<CheckpointDifference> differences;
  const auto states = {parseJson<nlohmann::json>(formatState(a.state())),
                       parseJson<nlohmann::json>(formatState(b.state()))};
  const nlohmann::json &first = *states.begin(), &second = *(states.begin() + 1);
  std::set<std::string> names;
  for (const nlohmann::json &state : states)
    for (const auto &[key, value] : state.items())
      names.insert(key);
  for (const std::string &key : names) {
    const auto text = [&](const nlohmann::json &state) {
      const auto at = state.find(key);
      return at == state.end() ? "no value" : dumpJson(*at);
    };
    if (text(first) != text(second))
      differences.push_back({key, fmt::format("{} and {}", text(first), text(second))});
  }
  names.clear();
  for (const CheckpointReader *reader : {&a, &b})
    for (const auto &[name, tensor] : reader->index().tensors)
      names.insert(name);
  for (const std::string &name : names) {
    if (typeText(a, name) != typeText(b, name)) {
      differences.push_back({name, fmt::format("{} and {}", typeText(a, name), typeText(b, name))});
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(std::string text, compareTensor(a, b, name));
    if (!text.empty())
      differences.push_back({name, std::move(text)});
  }
  return differences;
}

} // namespace sluice
