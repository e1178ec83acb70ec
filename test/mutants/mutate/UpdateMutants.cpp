//===- UpdateMutants.cpp - updates of parameters and optimizer states -----------------===//
#include "test/mutants/mutate/Mutation.h"

#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>
#include <set>

namespace sluice {

namespace {

auto updates(Mutation &m) {
  return m.places([&](const auto &i) { return m.isUpdate(i); });
}

/// Declares the parameters that the instruction writes as not trained; with all of them if null.
void freeze(Mutation &m, const plan::InstructionT *update) {
  std::set<std::uint32_t> written;
  if (update)
    forEachView(*update, [&](const plan::ViewT &view, bool isWrite) {
      if (isWrite)
        written.insert(view.buffer);
    });
  for (const auto &parameter : m.plan.parameters)
    if (!update || written.count(parameter->buffer)) {
      parameter->frozen = true;
      if (m.coin())
        parameter->requires_grad = false;
    }
}

bool dropUpdates(Mutation &m, bool all, bool freezes) {
  auto places = updates(m);
  if (places.empty())
    return false;
  if (!all)
    places = {m.pick(places)};
  std::reverse(places.begin(), places.end());
  for (const MutantPlace &place : places) {
    if (freezes)
      freeze(m, &m.at(place));
    m.erase(place);
  }
  return true;
}

/// The operands of an update by the names of its record.
std::vector<std::size_t> inputsNamed(Mutation &m, const MutantPlace &place,
                                     std::initializer_list<std::string_view> names) {
  const plan::LaunchT &launch = *m.launch(place);
  const auto records =
      inputRecords(*findKernelRecord(m.kernel(m.at(place))), attributesOf(launch), launch.inputs.size());
  std::vector<std::size_t> found;
  for (std::size_t k = 0; k < records.size(); ++k)
    if (std::find(names.begin(), names.end(), records[k]->name) != names.end())
      found.push_back(k);
  return found;
}

/// An operand that all parameters of an update share is a different buffer of its type.
bool otherShared(Mutation &m, std::string_view name) {
  const auto places = updates(m);
  if (places.empty())
    return false;
  const MutantPlace place = m.pick(places);
  const auto found = inputsNamed(m, place, {name});
  if (found.empty())
    return false;
  plan::ViewT &view = *m.launch(place)->inputs[found[0]];
  const auto others = m.alikeBuffers(place, view.buffer);
  if (others.empty())
    return false;
  view.buffer = m.pick(others);
  m.extendLifespans(place.entry);
  return true;
}

bool otherGradient(Mutation &m) {
  const auto places = updates(m);
  if (places.empty())
    return false;
  const MutantPlace place = m.pick(places);
  plan::LaunchT &launch = *m.launch(place);
  const auto gradients = inputsNamed(m, place, {"gradient"});
  const std::size_t k = m.pick(gradients);
  // Of the same update, or of another one.
  std::vector<std::uint32_t> others;
  for (const MutantPlace &from : places)
    if (from.entry == place.entry)
      for (std::size_t g : inputsNamed(m, from, {"gradient"}))
        if (const plan::ViewT &view = *m.launch(from)->inputs[g];
            sameType(view, *launch.inputs[k]) && view.buffer != launch.inputs[k]->buffer)
          others.push_back(view.buffer);
  if (others.empty())
    return false;
  launch.inputs[k]->buffer = m.pick(others);
  m.extendLifespans(place.entry);
  return true;
}

/// Exchanges two operands in place: as inputs and as outputs.
bool swapInPlace(Mutation &m, const MutantPlace &place, std::initializer_list<std::string_view> names) {
  plan::LaunchT &launch = *m.launch(place);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  const auto found = inputsNamed(m, place, names);
  for (std::size_t a : found)
    for (std::size_t b : found)
      if (a < b && sameType(*launch.inputs[a], *launch.inputs[b]) &&
          launch.inputs[a]->buffer != launch.inputs[b]->buffer)
        pairs.push_back({a, b});
  if (pairs.empty())
    return false;
  const auto [a, b] = m.pick(pairs);
  const std::uint32_t first = launch.inputs[a]->buffer, second = launch.inputs[b]->buffer;
  for (auto *list : {&launch.inputs, &launch.outputs})
    for (const auto &view : *list)
      if (view->buffer == first || view->buffer == second)
        view->buffer = view->buffer == first ? second : first;
  return true;
}

bool swapStates(Mutation &m) {
  const auto places = updates(m);
  return !places.empty() && swapInPlace(m, m.pick(places), {"exp_avg", "exp_avg_sq", "momentum_buffer"});
}

/// Exchanges two outputs of one type.
bool swapUpdateOutputs(Mutation &m) {
  const auto places = updates(m);
  if (places.empty())
    return false;
  plan::LaunchT &launch = *m.launch(m.pick(places));
  std::vector<std::pair<plan::ViewT *, plan::ViewT *>> pairs;
  for (const auto &a : launch.outputs)
    for (const auto &b : launch.outputs)
      if (a->buffer < b->buffer && sameType(*a, *b))
        pairs.push_back({a.get(), b.get()});
  if (pairs.empty())
    return false;
  const auto [a, b] = m.pick(pairs);
  std::swap(a->buffer, b->buffer);
  return true;
}

bool swapUpdatedParameters(Mutation &m) {
  const auto places = updates(m);
  return !places.empty() && swapInPlace(m, m.pick(places), {"parameter"});
}

/// The update runs on the stream of the last reduction before it, and before that reduction.
bool updateBeforeReduction(Mutation &m) {
  const auto places = updates(m);
  if (places.empty())
    return false;
  const MutantPlace place = m.pick(places);
  std::set<std::uint32_t> read;
  for (plan::ViewT *view : m.reads(m.at(place)))
    read.insert(view->buffer);
  // The reductions of any operand of the update; the order of all other instructions is that of the plan.
  std::vector<MutantPlace> reductions;
  for (const MutantPlace &from : m.places(isReduction))
    if (from.entry == place.entry && m.issue(from) < m.issue(place))
      for (plan::ViewT *view : m.writes(m.at(from)))
        if (read.count(view->buffer) || m.collective(from)->kind == plan::CollectiveKind::all_reduce) {
          reductions.push_back(from);
          break;
        }
  if (reductions.empty())
    return false;
  const MutantPlace from = m.pick(reductions);
  auto moved = std::make_unique<plan::InstructionT>(m.at(from));
  moved->stream = m.at(place).stream;
  m.insert({place.entry, place.section, place.k + 1}, std::move(moved));
  m.erase(from);
  return true;
}

bool updateHalf(Mutation &m) {
  const auto places = updates(m);
  if (places.empty())
    return false;
  const MutantPlace place = m.pick(places);
  plan::LaunchT &launch = *m.launch(place);
  const std::uint32_t buffer = launch.inputs[m.pick(inputsNamed(m, place, {"parameter"}))]->buffer;
  const auto parameter = std::find_if(m.plan.parameters.begin(), m.plan.parameters.end(),
                                      [&](const auto &p) { return p->buffer == buffer; });
  if (parameter == m.plan.parameters.end())
    return false;
  std::set<std::uint32_t> changed = {buffer};
  for (const auto &state : (*parameter)->states)
    changed.insert(state->buffer);
  const auto inputs = inputsNamed(m, place, {"parameter", "gradient"});
  for (std::size_t k = 0; k + 1 < inputs.size(); ++k)
    if (launch.inputs[inputs[k]]->buffer == buffer)
      changed.insert(launch.inputs[inputs[k + 1]]->buffer);
  bool halved = false;
  for (auto *list : {&launch.inputs, &launch.outputs})
    for (const auto &view : *list)
      if (changed.count(view->buffer) && !view->shape.empty() && view->shape[0] > 1) {
        view->shape[0] /= 2;
        halved = true;
      }
  return halved;
}

/// The valid extent of all operands of an update is empty.
bool updateNothing(Mutation &m) {
  const auto places = updates(m);
  if (places.empty())
    return false;
  plan::LaunchT &launch = *m.launch(m.pick(places));
  bool emptied = false;
  for (auto *list : {&launch.inputs, &launch.outputs})
    for (const auto &view : *list)
      for (const auto &valid : view->valid) {
        valid->chunk = valid->total = 0;
        emptied = true;
      }
  return emptied;
}

bool repeatUpdate(Mutation &m) {
  const auto places = updates(m);
  if (places.empty())
    return false;
  const MutantPlace place = m.pick(places);
  m.insert(place, std::make_unique<plan::InstructionT>(m.at(place)));
  return true;
}

bool updateInEachMicrobatch(Mutation &m) {
  const auto places = updates(m);
  if (places.empty())
    return false;
  const MutantPlace place = m.pick(places);
  if (place.section == 0 || m.plan.entries[place.entry]->sections[0]->repeat < 2)
    return false;
  auto moved = std::make_unique<plan::InstructionT>(m.at(place));
  m.erase(place);
  m.insert({place.entry, 0, std::uint32_t(m.plan.entries[place.entry]->sections[0]->instructions.size())},
           std::move(moved));
  return true;
}

/// A gather of a parameter runs once more, after its update.
bool gatherAfterUpdate(Mutation &m) {
  const auto places = updates(m);
  const auto gather = m.place([](const auto &i) { return isCollective(i, plan::CollectiveKind::all_gather); });
  if (places.empty() || !gather)
    return false;
  for (const MutantPlace &place : places)
    if (place.entry == gather->entry) {
      auto moved = std::make_unique<plan::InstructionT>(m.at(*gather));
      moved->stream = m.at(place).stream;
      m.insert({place.entry, place.section, std::uint32_t(m.list(place).size())}, std::move(moved));
      return true;
    }
  return false;
}

} // namespace

std::vector<MutantKind> updateKinds() {
  return {
      {"drop-update", "an update is left out", {2, 10}, [](Mutation &m) { return dropUpdates(m, false, false); }},
      {"drop-all-updates",
       "all updates are left out",
       {2, 10},
       [](Mutation &m) { return dropUpdates(m, true, false); }},
      {"freeze-one",
       "an update is left out and its parameters are declared frozen",
       {1, 10},
       [](Mutation &m) { return dropUpdates(m, false, true); }},
      {"freeze-all",
       "all updates are left out and all parameters are declared frozen",
       {1, 10},
       [](Mutation &m) { return dropUpdates(m, true, true); }},
      {"other-learning-rate",
       "an update reads a different scalar as learning rate",
       {2, 3, 7, 9, 10},
       [](Mutation &m) { return otherShared(m, "learning_rate"); }},
      {"other-step",
       "an update reads a different scalar as step",
       {2, 3, 7, 9, 10},
       [](Mutation &m) { return otherShared(m, "step"); }},
      {"other-clip-coefficient",
       "an update reads a different clip coefficient",
       {2, 3, 7, 9, 10},
       [](Mutation &m) { return otherShared(m, "clip_coefficient"); }},
      {"other-guard",
       "an update reads a different guard",
       {2, 3, 7, 9, 10},
       [](Mutation &m) { return otherShared(m, "guard"); }},
      {"swap-states", "an update exchanges two states of its optimizer", {8, 9, 10}, swapStates},
      {"swap-update-outputs", "two outputs of an update are exchanged", {1, 2, 8, 9, 10}, swapUpdateOutputs},
      {"swap-updated-parameters", "an update exchanges two parameters", {8, 9, 10}, swapUpdatedParameters},
      {"update-before-reduction",
       "an update runs before a reduction",
       {1, 2, 3, 4, 5, 7, 9, 10, 12},
       updateBeforeReduction},
      {"update-other-gradient", "an update uses a different gradient", {2, 3, 7, 8, 9, 10}, otherGradient},
      {"update-half", "an update writes half of a shard", {1, 8, 9, 10}, updateHalf},
      {"update-nothing", "the valid extents of an update are empty", {1, 8, 10}, updateNothing},
      {"repeat-update", "an update runs twice", {10}, repeatUpdate},
      {"update-each-microbatch", "an update runs in each micro-batch", {2, 3, 7, 10}, updateInEachMicrobatch},
      {"gather-after-update", "a unit is gathered again after its update", {1, 2, 3, 4, 10, 12}, gatherAfterUpdate},
  };
}

} // namespace sluice
