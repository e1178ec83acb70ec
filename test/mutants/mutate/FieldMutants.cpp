//===- FieldMutants.cpp - mutants by the fields of the schema ---------------------------===//
#include "test/mutants/mutate/FieldMutants.h"

#include "runtime/plan/Reader.h"
#include "runtime/plan/Serialize.h"
#include "test/fuzz/PlanMutation.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace sluice {

namespace {

/// New values that are drawn before a field counts as one without another value.
constexpr int draws = 8;

std::string nameOf(const fuzz::FieldSlot &slot) { return std::string(slot.table) + "." + slot.field; }

} // namespace

std::vector<std::string> planFields(const plan::PlanT &plan) {
  plan::PlanT copy = plan;
  std::set<std::string> names;
  for (const fuzz::FieldSlot &slot : fuzz::fieldSlots(copy))
    names.insert(nameOf(slot));
  names.erase("Plan.digest");
  return {names.begin(), names.end()};
}

std::optional<plan::PlanT> makeFieldMutant(const plan::PlanT &plan, const std::string &field, std::uint64_t seed) {
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed % std::minstd_rand::modulus));
  const Digest original = canonicalDigest(plan);
  for (int draw = 0; draw < draws; ++draw) {
    plan::PlanT mutant = plan;
    const std::vector<fuzz::FieldSlot> all = fuzz::fieldSlots(mutant);
    std::vector<fuzz::FieldSlot> own;
    std::ranges::copy_if(all, std::back_inserter(own),
                         [&](const fuzz::FieldSlot &slot) { return nameOf(slot) == field; });
    if (own.empty())
      return std::nullopt;
    const fuzz::FieldSlot &to = own[random() % own.size()];
    const void *from = to.at;
    // Most often the value of another object, sometimes a value of any field of the type.
    const std::vector<fuzz::FieldSlot> &others = random() % 4 ? own : all;
    for (int tries = 0; tries < 32; ++tries)
      if (const fuzz::FieldSlot &other = others[random() % others.size()]; other.change == to.change)
        from = other.at;
    to.change(to.at, from, random);
    const Digest digest = canonicalDigest(mutant);
    if (digest == original)
      continue;
    mutant.digest.assign(digest.begin(), digest.end());
    // A file that is written has the versions of this build.
    if (std::tie(mutant.major, mutant.minor, mutant.catalogue) != std::tie(plan.major, plan.minor, plan.catalogue))
      return mutant;
    Result<PlanFile> file = parsePlan(serializePlan(mutant), field);
    return file.isOk() ? std::move(file->plan) : std::move(mutant);
  }
  return std::nullopt;
}

} // namespace sluice
