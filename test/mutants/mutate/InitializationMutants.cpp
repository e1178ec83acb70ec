//===- InitializationMutants.cpp - initial values and random numbers ------------------===//
#include "test/mutants/mutate/Mutation.h"

namespace sluice {

namespace {

bool dropInit(Mutation &m) {
  const std::vector<MutantPlace> all = m.initPlaces(isLaunch);
  if (!all.empty())
    m.erase(m.pick(all));
  return !all.empty();
}

bool changeKey(Mutation &m, const std::vector<MutantPlace> &places) {
  plan::AttributeT *key = m.attribute(places, [](const plan::AttributeT &a) { return a.name == "key"; });
  if (key)
    key->integer += 1 + std::int64_t(m.below(3));
  return key;
}

bool changeInitNumber(Mutation &m) {
  plan::AttributeT *number = m.attribute(m.initPlaces(isLaunch), [](const plan::AttributeT &a) { return a.kind == 1; });
  if (number)
    number->number = number->number == 0 ? 0.5 : number->number / 2;
  return number;
}

plan::ParameterT *random(Mutation &m) {
  std::vector<plan::ParameterT *> found;
  for (const auto &parameter : m.plan.parameters)
    if (const auto &initializer = parameter->initializer;
        initializer &&
        (initializer->kind == plan::InitializerKind::normal || initializer->kind == plan::InitializerKind::uniform))
      found.push_back(parameter.get());
  return found.empty() ? nullptr : m.pick(found);
}

bool parameterKey(Mutation &m) {
  plan::ParameterT *changed = random(m);
  if (changed)
    ++changed->key;
  return changed;
}

/// Two parameters have the same random numbers, in the declaration and in the launch.
bool sameKey(Mutation &m) {
  plan::ParameterT *from = random(m), *to = random(m);
  if (!from || from->key == to->key)
    return false;
  for (const MutantPlace &place : m.initPlaces(isLaunch))
    for (const auto &attribute : m.launch(place)->attributes)
      if (attribute->name == "key" && std::uint64_t(attribute->integer) == to->key)
        attribute->integer = std::int64_t(from->key);
  to->key = from->key;
  return true;
}

bool declaredInitializer(Mutation &m) {
  if (m.plan.parameters.empty())
    return false;
  plan::InitializerT *initializer = m.plan.parameters[m.below(m.plan.parameters.size())]->initializer.get();
  if (!initializer)
    return false;
  if (m.coin())
    initializer->kind = plan::InitializerKind(m.below(5));
  else
    initializer->b += 0.5;
  return true;
}

/// Exchanges the outputs of two launches of the same type.
bool swapInitialTensors(Mutation &m) {
  std::vector<std::pair<plan::ViewT *, plan::ViewT *>> pairs;
  std::vector<plan::ViewT *> before;
  for (const MutantPlace &place : m.initPlaces(isLaunch)) {
    plan::ViewT *view = m.launch(place)->outputs[0].get();
    for (plan::ViewT *other : before)
      if (sameType(*other, *view))
        pairs.push_back({other, view});
    before.push_back(view);
  }
  if (pairs.empty())
    return false;
  const auto [first, second] = m.pick(pairs);
  std::swap(first->buffer, second->buffer);
  for (std::uint32_t e = 0; e < m.plan.entries.size(); ++e)
    m.extendLifespans(e);
  return true;
}

bool initialZeros(Mutation &m) {
  const std::vector<MutantPlace> places =
      m.initPlaces([&](const auto &i) { return m.kernel(i).starts_with("random_"); });
  if (places.empty())
    return false;
  auto zeros = std::make_unique<plan::AttributeT>();
  zeros->name = "zeros";
  zeros->kind = 2;
  zeros->list = {0, 1 + std::int64_t(m.below(4))};
  auto &attributes = m.launch(m.pick(places))->attributes;
  std::erase_if(attributes, [](const auto &attribute) { return attribute->name == "zeros"; });
  attributes.push_back(std::move(zeros));
  return true;
}

} // namespace

std::vector<MutantKind> initializationKinds() {
  return {
      {"drop-init", "a tensor is not initialized", {2, 8, 9, 10, 15}, dropInit},
      {"init-other-key",
       "initial values are those of a different key",
       {9, 14},
       [](Mutation &m) { return changeKey(m, m.initPlaces(isLaunch)); }},
      {"init-other-number", "initial values have a different distribution", {8, 9}, changeInitNumber},
      {"random-other-key",
       "random values of a step are those of a different key",
       {9, 14},
       [](Mutation &m) { return changeKey(m, m.places(isLaunch)); }},
      {"parameter-key", "a parameter declares a different key of its random numbers", {9, 14}, parameterKey},
      {"same-key", "two parameters have the same random numbers", {9, 14}, sameKey},
      {"declared-initializer", "a parameter declares a different initializer", {1, 9}, declaredInitializer},
      {"swap-initial-tensors", "the initial values of two tensors are exchanged", {1, 2, 8, 9, 14}, swapInitialTensors},
      {"initial-zeros", "the first initial values of a tensor are zeros", {9, 14}, initialZeros},
  };
}

} // namespace sluice
