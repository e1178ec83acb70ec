//===- AccumulationMutants.cpp - sums over micro-batches ------------------------------===//
#include "test/mutants/mutate/Mutation.h"

#include "runtime/kernel/catalogue/Catalogue.h"
#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>

namespace sluice {

namespace {

plan::AttributeT *firstOf(const plan::InstructionT &i) {
  for (const auto &attribute : i.operation.AsLaunch()->attributes)
    if (attribute->name == "first")
      return attribute.get();
  return nullptr;
}

auto isAccumulate(const Mutation &m, bool first) {
  return [&m, first](const plan::InstructionT &i) {
    return m.isKernel(i, "accumulate") && firstOf(i) && (firstOf(i)->integer != 0) == first;
  };
}

/// The sum that a launch of another kernel adds its result to in place; null without one.
const AliasRecord *sumOf(const Mutation &m, const plan::InstructionT &i) {
  const plan::LaunchT *launch = i.operation.AsLaunch();
  const KernelRecord *record = launch ? findKernelRecord(m.kernel(i)) : nullptr;
  if (!record || i.when == plan::When::all)
    return nullptr;
  const Attributes attributes = attributesOf(*launch);
  for (const AliasRecord &sum : record->sums)
    if (attributes.number(sum.input, 0) != 0)
      return &sum;
  return nullptr;
}

auto addsToSum(const Mutation &m) {
  return [&m](const plan::InstructionT &i) { return isAccumulate(m, false)(i) || sumOf(m, i); };
}

bool accumulateFirstAlways(Mutation &m) {
  return m.edit(addsToSum(m), [&](plan::InstructionT &i) {
    const AliasRecord *sum = sumOf(m, i);
    if (!sum) {
      firstOf(i)->integer = 1;
      return;
    }
    // Without the attribute, the first of the sums, which are the last operands, is no operand.
    plan::LaunchT &launch = *i.operation.AsLaunch();
    const Attributes attributes = attributesOf(launch);
    const auto sums = std::ranges::count_if(findKernelRecord(m.kernel(i))->sums, [&](const AliasRecord &other) {
      return attributes.number(other.input, 0) != 0;
    });
    std::erase_if(launch.attributes, [&](const auto &attribute) { return attribute->name == sum->input; });
    launch.inputs.erase(launch.inputs.end() - sums);
    if (!launch.input_values.empty())
      launch.input_values.erase(launch.input_values.end() - sums);
  });
}

bool accumulateNotLast(Mutation &m) {
  return m.edit([&](const auto &i) { return addsToSum(m)(i) && i.when == plan::When::not_first; },
                [&](plan::InstructionT &i) {
                  i.when = plan::When::listed;
                  i.repetitions.clear();
                  for (std::uint32_t r = 1; r + 1 < m.plan.microbatches; ++r)
                    i.repetitions.push_back(r);
                  if (i.repetitions.empty())
                    i.when = plan::When::first;
                });
}

/// The first of two attributes of one name decides.
bool hideFirst(Mutation &m) {
  return m.edit(isAccumulate(m, true), [&](plan::InstructionT &i) {
    auto hidden = std::make_unique<plan::AttributeT>(*firstOf(i));
    hidden->integer = 0;
    auto &attributes = i.operation.AsLaunch()->attributes;
    attributes.insert(attributes.begin(), std::move(hidden));
  });
}

bool accumulateOther(Mutation &m) {
  const auto place = m.place([&](const auto &i) { return m.isKernel(i, "accumulate"); });
  if (!place)
    return false;
  plan::ViewT &view = *m.launch(*place)->inputs[0];
  const std::vector<std::uint32_t> others = m.alikeBuffers(*place, view.buffer);
  if (others.empty())
    return false;
  view.buffer = m.pick(others);
  m.extendLifespans(place->entry);
  return true;
}

plan::SectionT *microbatches(Mutation &m) {
  std::vector<plan::SectionT *> sections;
  for (const auto &entry : m.plan.entries)
    for (const auto &section : entry->sections)
      if (section->repeat > 1)
        sections.push_back(section.get());
  return sections.empty() ? nullptr : m.pick(sections);
}

bool halveRepeat(Mutation &m) {
  plan::SectionT *section = microbatches(m);
  if (section)
    section->repeat /= 2;
  return section;
}

bool repeatOnceMore(Mutation &m) {
  plan::SectionT *section = microbatches(m);
  if (section)
    ++section->repeat;
  return section;
}

/// The views that have another slice of a port in each repetition.
std::vector<plan::ViewT *> movingViews(Mutation &m) {
  std::vector<plan::ViewT *> moving;
  for (const MutantPlace &place : m.places(isWork))
    for (plan::ViewT *view : m.reads(m.at(place)))
      if (view->repetition_stride > 0)
        moving.push_back(view);
  return moving;
}

bool sameMicrobatch(Mutation &m) {
  const std::vector<plan::ViewT *> moving = movingViews(m);
  if (!moving.empty())
    m.pick(moving)->repetition_stride = 0;
  return !moving.empty();
}

bool nextMicrobatch(Mutation &m) {
  const std::vector<plan::ViewT *> moving = movingViews(m);
  if (moving.empty())
    return false;
  plan::ViewT &view = *m.pick(moving);
  view.offset += view.repetition_stride;
  return true;
}

bool microbatchStride(Mutation &m) {
  const std::vector<plan::ViewT *> moving = movingViews(m);
  if (moving.empty())
    return false;
  plan::ViewT &view = *m.pick(moving);
  view.repetition_stride = m.coin() ? view.repetition_stride * 2 : view.repetition_stride / 2;
  return true;
}

bool declaredMicrobatches(Mutation &m) {
  m.plan.microbatches += m.coin() || m.plan.microbatches < 2 ? 1 : -1;
  return true;
}

} // namespace

std::vector<MutantKind> accumulationKinds() {
  return {
      {"accumulate-first-always", "a later micro-batch replaces the sum", {7, 9}, accumulateFirstAlways},
      {"drop-accumulate",
       "later micro-batches are not added",
       {7, 9},
       [](Mutation &m) { return m.drop(isAccumulate(m, false)); }},
      {"accumulate-not-last", "the last micro-batch is not added", {2, 7, 9}, accumulateNotLast},
      {"hide-first", "the first micro-batch is added to old bytes by a repeated attribute", {1, 2, 7, 9}, hideFirst},
      {"accumulate-twice", "a micro-batch is added twice", {7, 9}, [](Mutation &m) { return m.repeat(addsToSum(m)); }},
      {"accumulate-other", "a different value is added to the sum", {2, 3, 4, 7, 9}, accumulateOther},
      {"halve-microbatches", "half of the micro-batches run", {1, 2, 7, 8, 9, 11}, halveRepeat},
      {"same-microbatch", "each repetition reads the same micro-batch", {1, 7, 8, 9}, sameMicrobatch},
      {"next-microbatch", "a view reads the next micro-batch", {1, 2, 7, 8, 9}, nextMicrobatch},
      {"microbatch-stride", "micro-batches are at a different distance", {1, 2, 7, 8, 9}, microbatchStride},
      {"repeat-once-more", "there is one micro-batch more", {1, 2, 7, 8, 9, 11}, repeatOnceMore},
      {"declared-microbatches",
       "the plan declares a different number of micro-batches",
       {1, 7, 9},
       declaredMicrobatches},
  };
}

} // namespace sluice
