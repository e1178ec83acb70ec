//===- OperandMutants.cpp - operands, kernels and attributes of launches --------------===//
#include "test/mutants/mutate/Mutation.h"

#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>

namespace sluice {

namespace {

/// Exchanges two inputs of a launch, of the same type if there are such.
bool swapOperands(Mutation &m) {
  const auto place = m.place([](const auto &i) { return hasInputs(i, 2); });
  if (!place)
    return false;
  auto &inputs = m.launch(*place)->inputs;
  std::vector<std::pair<std::size_t, std::size_t>> alike, all;
  for (std::size_t a = 0; a < inputs.size(); ++a)
    for (std::size_t b = a + 1; b < inputs.size() && b < a + 8; ++b) {
      all.push_back({a, b});
      if (sameType(*inputs[a], *inputs[b]))
        alike.push_back({a, b});
    }
  const auto [a, b] = m.pick(alike.empty() ? all : alike);
  std::swap(inputs[a], inputs[b]);
  return true;
}

bool swapLaunchOutputs(Mutation &m) {
  return m.edit([](const auto &i) { return isLaunch(i) && i.operation.AsLaunch()->outputs.size() > 1; },
                [&](plan::InstructionT &i) {
                  auto &outputs = i.operation.AsLaunch()->outputs;
                  std::swap(outputs[0], outputs[1 + m.below(outputs.size() - 1)]);
                });
}

/// Exchanges the views of two ports of the same type of an entry point.
bool swapPorts(Mutation &m, std::vector<std::unique_ptr<plan::PortT>> plan::EntryT::*list) {
  std::vector<std::pair<plan::PortT *, plan::PortT *>> pairs;
  for (const auto &entry : m.plan.entries)
    for (const auto &first : (*entry).*list)
      for (const auto &second : (*entry).*list)
        if (first->name < second->name && sameType(*first->view, *second->view) &&
            first->view->repetition_stride == second->view->repetition_stride)
          pairs.push_back({first.get(), second.get()});
  if (pairs.empty())
    return false;
  const auto [first, second] = m.pick(pairs);
  std::swap(first->view, second->view);
  return true;
}

/// The value of the unsharded program that a launch of the entry point writes to the buffer; 0 without such a launch.
std::uint32_t valueOf(const plan::EntryT &entry, std::uint32_t buffer) {
  std::uint32_t value = 0;
  forEachInstruction(entry, [&](const plan::InstructionT &i, std::uint32_t, std::uint32_t) {
    if (const plan::LaunchT *launch = i.operation.AsLaunch())
      for (std::size_t k = 0; k < launch->outputs.size() && k < launch->output_values.size(); ++k)
        if (launch->outputs[k]->buffer == buffer)
          value = launch->output_values[k];
  });
  return value;
}

/// A launch reads a different one of the scalars that a step copies from its inputs, such as the seed.
bool otherScalar(Mutation &m) {
  std::vector<std::pair<std::uint32_t, const plan::ViewT *>> scalars;
  for (const MutantPlace &place : m.places(isCopy))
    if (const plan::ViewT &copied = *m.at(place).operation.AsCopy()->destination; copied.shape.empty())
      scalars.push_back({place.entry, &copied});
  std::vector<std::pair<plan::ViewT *, const plan::ViewT *>> choices;
  for (const MutantPlace &place : m.places(isLaunch))
    for (plan::ViewT *view : m.reads(m.at(place)))
      if (std::ranges::any_of(scalars, [&](const auto &scalar) { return scalar.second->buffer == view->buffer; }))
        for (const auto &[entry, scalar] : scalars)
          if (entry == place.entry && sameType(*scalar, *view) && scalar->buffer != view->buffer)
            choices.push_back({view, scalar});
  if (choices.empty())
    return false;
  const auto [view, scalar] = m.pick(choices);
  view->buffer = scalar->buffer;
  view->offset = scalar->offset;
  for (std::uint32_t e = 0; e < m.plan.entries.size(); ++e)
    m.extendLifespans(e);
  return true;
}

/// The attributes of two launches of one kernel are exchanged.
bool swapAttributes(Mutation &m) {
  std::vector<std::pair<plan::LaunchT *, plan::LaunchT *>> pairs;
  std::vector<plan::LaunchT *> before;
  for (const MutantPlace &place : m.places(isLaunch)) {
    plan::LaunchT *launch = m.launch(place);
    for (plan::LaunchT *other : before)
      if (other->kernel == launch->kernel && !launch->attributes.empty())
        pairs.push_back({other, launch});
    before.push_back(launch);
  }
  if (pairs.empty())
    return false;
  const auto [first, second] = m.pick(pairs);
  std::swap(first->attributes, second->attributes);
  return true;
}

/// An input is a different buffer of the same type. A pass that mixes up operands may also name the other value.
bool otherOperand(Mutation &m) {
  const auto place = m.place([](const auto &i) { return hasInputs(i, 1); });
  if (!place)
    return false;
  plan::LaunchT &launch = *m.launch(*place);
  const std::size_t k = m.below(launch.inputs.size());
  const std::vector<std::uint32_t> others = m.alikeBuffers(*place, launch.inputs[k]->buffer);
  if (others.empty())
    return false;
  launch.inputs[k]->buffer = m.pick(others);
  if (m.coin() && k < launch.input_values.size())
    launch.input_values[k] = valueOf(*m.plan.entries[place->entry], launch.inputs[k]->buffer);
  m.extendLifespans(place->entry);
  return true;
}

bool otherCopySource(Mutation &m) {
  const auto place = m.place(isCopy);
  if (!place)
    return false;
  plan::ViewT &source = *m.at(*place).operation.AsCopy()->source;
  const std::vector<std::uint32_t> others = m.alikeBuffers(*place, source.buffer);
  if (others.empty())
    return false;
  source.buffer = m.pick(others);
  m.extendLifespans(place->entry);
  return true;
}

/// The copy moves from its destination to its source.
bool reverseCopy(Mutation &m) {
  return m.edit(isCopy, [](plan::InstructionT &i) {
    std::swap(i.operation.AsCopy()->source, i.operation.AsCopy()->destination);
  });
}

bool swapCopyDestinations(Mutation &m) {
  std::vector<std::pair<plan::CopyT *, plan::CopyT *>> pairs;
  std::vector<plan::CopyT *> before;
  for (const MutantPlace &place : m.places(isCopy)) {
    plan::CopyT *copy = m.at(place).operation.AsCopy();
    for (plan::CopyT *other : before)
      if (sameType(*other->destination, *copy->destination) &&
          m.plan.buffers[other->destination->buffer]->space == m.plan.buffers[copy->destination->buffer]->space)
        pairs.push_back({other, copy});
    before.push_back(copy);
  }
  if (pairs.empty())
    return false;
  const auto [first, second] = m.pick(pairs);
  std::swap(first->destination, second->destination);
  for (std::uint32_t e = 0; e < m.plan.entries.size(); ++e)
    m.extendLifespans(e);
  return true;
}

bool halveCopy(Mutation &m) {
  return m.edit(
      [](const auto &i) {
        return isCopy(i) && !i.operation.AsCopy()->source->shape.empty() && i.operation.AsCopy()->source->shape[0] > 1;
      },
      [](plan::InstructionT &i) {
        i.operation.AsCopy()->source->shape[0] /= 2;
        i.operation.AsCopy()->destination->shape[0] /= 2;
      });
}

bool fillValue(Mutation &m) {
  return m.edit([](const auto &i) { return i.operation.type == plan::Operation::Fill; },
                [](plan::InstructionT &i) { i.operation.AsFill()->value += 0.5; });
}

bool otherKernel(Mutation &m) {
  return m.edit(isLaunch, [&](plan::InstructionT &i) {
    plan::LaunchT &launch = *i.operation.AsLaunch();
    std::vector<std::string> names;
    for (const KernelRecord &record : catalogue()) {
      const Attributes attributes = attributesOf(launch);
      const OperandCounts counts = expectedOperands(record, attributes, launch.inputs.size(), launch.outputs.size());
      if (counts.inputs == launch.inputs.size() && counts.outputs == launch.outputs.size() &&
          record.name != m.plan.kernels[launch.kernel] && attributeProblem(record, attributes).empty())
        names.emplace_back(record.name);
    }
    if (names.empty())
      return;
    const std::string name = m.pick(names);
    const auto found = std::find(m.plan.kernels.begin(), m.plan.kernels.end(), name);
    launch.kernel = std::uint32_t(found - m.plan.kernels.begin());
    launch.reduction = plan::ReductionClass(findKernelRecord(name)->reduction);
    if (found == m.plan.kernels.end())
      m.plan.kernels.push_back(name);
  });
}

bool writesInPlace(const plan::InstructionT &i) {
  if (!isLaunch(i))
    return false;
  for (const auto &input : i.operation.AsLaunch()->inputs)
    for (const auto &output : i.operation.AsLaunch()->outputs)
      if (input->buffer == output->buffer)
        return true;
  return false;
}

bool changeInteger(Mutation &m) {
  plan::AttributeT *integer = m.attribute(m.places(isLaunch), [](const plan::AttributeT &a) { return a.kind == 0; });
  if (integer)
    integer->integer = integer->integer == 0 || m.coin() ? integer->integer + 1 : integer->integer - 1;
  return integer;
}

bool changeNumber(Mutation &m) {
  plan::AttributeT *number = m.attribute(m.places(isLaunch), [](const plan::AttributeT &a) { return a.kind == 1; });
  if (number)
    number->number = number->number == 0 ? 0.125 : number->number * (m.coin() ? 2 : 0.5);
  return number;
}

bool changeList(Mutation &m) {
  plan::AttributeT *list =
      m.attribute(m.places(isLaunch), [](const plan::AttributeT &a) { return a.kind == 2 && !a.list.empty(); });
  if (!list)
    return false;
  if (m.coin())
    std::reverse(list->list.begin(), list->list.end());
  else
    list->list[m.below(list->list.size())] += 1;
  return true;
}

bool dropAttribute(Mutation &m) {
  return m.edit([](const auto &i) { return isLaunch(i) && !i.operation.AsLaunch()->attributes.empty(); },
                [&](plan::InstructionT &i) {
                  auto &attributes = i.operation.AsLaunch()->attributes;
                  attributes.erase(attributes.begin() + std::int64_t(m.below(attributes.size())));
                });
}

/// The factor with which the backward begins.
bool doubleSeed(Mutation &m) {
  return m.edit([&](const auto &i) { return m.isKernel(i, "constant") && i.phase != plan::Phase::forward; },
                [](plan::InstructionT &i) {
                  for (const auto &attribute : i.operation.AsLaunch()->attributes)
                    if (attribute->name == "value")
                      attribute->number = attribute->number == 0 ? 1 : 2 * attribute->number;
                });
}

bool dropInput(Mutation &m, std::string_view kernel) {
  return m.edit([&](const auto &i) { return m.isKernel(i, kernel) && hasInputs(i, 2); },
                [&](plan::InstructionT &i) {
                  plan::LaunchT &launch = *i.operation.AsLaunch();
                  const auto k = std::int64_t(m.below(launch.inputs.size()));
                  launch.inputs.erase(launch.inputs.begin() + k);
                  if (std::size_t(k) < launch.input_values.size())
                    launch.input_values.erase(launch.input_values.begin() + k);
                });
}

} // namespace

std::vector<MutantKind> operandKinds() {
  return {
      {"swap-operands", "two inputs of a launch are exchanged", {1, 2, 7, 8, 9, 10}, swapOperands},
      {"swap-launch-outputs", "two outputs of a launch are exchanged", {1, 2, 3, 9, 10}, swapLaunchOutputs},
      {"swap-output-ports",
       "two outputs of an entry point are exchanged",
       {9},
       [](Mutation &m) { return swapPorts(m, &plan::EntryT::outputs); }},
      {"swap-input-ports",
       "two inputs of an entry point are exchanged",
       {1, 9, 14},
       [](Mutation &m) { return swapPorts(m, &plan::EntryT::inputs); }},
      {"other-operand", "an input is a different tensor of the same type", {2, 3, 4, 7, 8, 9, 10, 12}, otherOperand},
      {"other-copy-source",
       "a copy has a different source of the same type",
       {2, 3, 4, 7, 8, 9, 10, 12, 14},
       otherCopySource},
      {"reverse-copy", "a copy moves from its destination to its source", {1, 2, 3, 4, 7, 8, 9, 10, 12}, reverseCopy},
      {"swap-copy-destinations",
       "the destinations of two copies are exchanged",
       {1, 2, 3, 4, 7, 8, 9, 10, 12, 14},
       swapCopyDestinations},
      {"halve-copy", "half of a tensor is copied", {1, 2, 4, 8, 9, 10, 12}, halveCopy},
      {"fill-value", "bytes are filled with a different number", {7, 8, 9}, fillValue},
      {"other-scalar", "a launch reads a different scalar of the step", {1, 2, 3, 9, 10, 14}, otherScalar},
      {"swap-attributes", "the attributes of two launches of a kernel are exchanged", {1, 2, 7, 9, 14}, swapAttributes},
      {"other-kernel", "a launch runs a different kernel", {1, 2, 4, 7, 9, 14}, otherKernel},
      {"repeat-launch", "a launch runs twice", {2, 7, 9, 10}, [](Mutation &m) { return m.repeat(isLaunch); }},
      {"drop-in-place-launch",
       "a launch that works in place is left out",
       {2, 7, 9, 10},
       [](Mutation &m) { return m.drop([&](const auto &i) { return writesInPlace(i) && !m.isUpdate(i); }); }},
      {"drop-launch", "a launch is left out", {1, 2, 4, 7, 9, 10}, [](Mutation &m) { return m.drop(isLaunch); }},
      {"drop-copy", "a copy is left out", {2, 9, 10, 12}, [](Mutation &m) { return m.drop(isCopy); }},
      {"double-seed", "the gradient of the loss is doubled", {7, 9}, doubleSeed},
      {"change-integer", "an integer attribute is different", {1, 2, 7, 9}, changeInteger},
      {"change-number", "a number attribute is different", {1, 7, 9}, changeNumber},
      {"change-list", "a list attribute is different", {1, 9}, changeList},
      {"drop-attribute", "an attribute is left out", {1, 2, 7, 9}, dropAttribute},
      {"norm-without-gradient",
       "the norm does not include a gradient",
       {7, 9},
       [](Mutation &m) { return dropInput(m, "power_sum"); }},
      {"guard-without-input",
       "the guard does not include a value",
       {7, 9},
       [](Mutation &m) { return dropInput(m, "all_finite"); }},
  };
}

} // namespace sluice
