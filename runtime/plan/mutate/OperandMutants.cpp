//===- OperandMutants.cpp - operands, kernels and attributes of launches --------------===//
#include "runtime/plan/mutate/Mutation.h"

#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>

namespace sluice {

namespace {

bool hasInputs(const plan::InstructionT &i, std::size_t least) {
  return isLaunch(i) && i.operation.AsLaunch()->inputs.size() >= least;
}

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
    if (found == m.plan.kernels.end())
      m.plan.kernels.push_back(name);
  });
}

bool repeatLaunch(Mutation &m) {
  const auto place = m.place(isLaunch);
  if (place)
    m.insert(*place, std::make_unique<plan::InstructionT>(m.at(*place)));
  return place.has_value();
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

template <typename Accept> bool dropLaunch(Mutation &m, Accept accept) {
  const auto place = m.place(accept);
  if (place)
    m.erase(*place);
  return place.has_value();
}

bool dropInit(Mutation &m) {
  const std::vector<MutantPlace> all = m.initPlaces(isLaunch);
  if (!all.empty())
    m.erase(m.pick(all));
  return !all.empty();
}

template <typename Accept>
plan::AttributeT *attribute(Mutation &m, const std::vector<MutantPlace> &places, Accept accept) {
  std::vector<plan::AttributeT *> found;
  for (const MutantPlace &place : places)
    for (const auto &attribute : m.launch(place)->attributes)
      if (accept(*attribute))
        found.push_back(attribute.get());
  return found.empty() ? nullptr : m.pick(found);
}

bool changeKey(Mutation &m, const std::vector<MutantPlace> &places) {
  plan::AttributeT *key = attribute(m, places, [](const plan::AttributeT &a) { return a.name == "key"; });
  if (key)
    key->integer += 1 + std::int64_t(m.below(3));
  return key;
}

bool changeInitNumber(Mutation &m) {
  plan::AttributeT *number =
      attribute(m, m.initPlaces(isLaunch), [](const plan::AttributeT &a) { return a.kind == 1; });
  if (number)
    number->number = number->number == 0 ? 0.5 : number->number / 2;
  return number;
}

bool changeInteger(Mutation &m) {
  plan::AttributeT *integer = attribute(m, m.places(isLaunch), [](const plan::AttributeT &a) { return a.kind == 0; });
  if (integer)
    integer->integer = integer->integer == 0 || m.coin() ? integer->integer + 1 : integer->integer - 1;
  return integer;
}

bool changeNumber(Mutation &m) {
  plan::AttributeT *number = attribute(m, m.places(isLaunch), [](const plan::AttributeT &a) { return a.kind == 1; });
  if (number)
    number->number = number->number == 0 ? 0.125 : number->number * (m.coin() ? 2 : 0.5);
  return number;
}

bool changeList(Mutation &m) {
  plan::AttributeT *list =
      attribute(m, m.places(isLaunch), [](const plan::AttributeT &a) { return a.kind == 2 && !a.list.empty(); });
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

bool halveView(Mutation &m, bool output) {
  const auto place = m.place([&](const auto &i) { return output ? isLaunch(i) : hasInputs(i, 1); });
  if (!place)
    return false;
  plan::ViewT &view = *m.pick(output ? m.writes(m.at(*place)) : m.reads(m.at(*place)));
  if (view.shape.empty() || view.shape[0] < 2)
    return false;
  view.shape[0] /= 2;
  return true;
}

/// Exchanges the strides of two dims of equal extent.
bool transposeView(Mutation &m) {
  std::vector<std::pair<plan::ViewT *, std::size_t>> choices;
  for (const MutantPlace &place : m.places(isLaunch))
    for (plan::ViewT *view : m.reads(m.at(place)))
      for (std::size_t d = 0; d + 1 < view->shape.size(); ++d)
        if (view->shape[d] == view->shape[d + 1] && view->shape[d] > 1)
          choices.push_back({view, d});
  if (choices.empty())
    return false;
  const auto [view, d] = m.pick(choices);
  if (view->strides.empty()) {
    view->strides.assign(view->shape.size(), 1);
    for (std::size_t k = view->shape.size() - 1; k-- > 0;)
      view->strides[k] = view->strides[k + 1] * view->shape[k + 1];
  }
  std::swap(view->strides[d], view->strides[d + 1]);
  return true;
}

bool broadcastView(Mutation &m) {
  return m.edit([](const auto &i) { return hasInputs(i, 1); },
                [&](plan::InstructionT &i) {
                  plan::ViewT &view = *m.pick(m.reads(i));
                  view.strides.assign(view.shape.size(), 0);
                });
}

bool otherDType(Mutation &m) {
  return m.edit(isLaunch, [&](plan::InstructionT &i) {
    plan::ViewT &view = *m.pick(m.coin() && hasInputs(i, 1) ? m.reads(i) : m.writes(i));
    view.dtype = plan::DType(m.below(7));
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

plan::ViewT *paddedView(Mutation &m) {
  std::vector<plan::ViewT *> views;
  for (const MutantPlace &place : m.places(isWork))
    for (bool written : {false, true})
      for (plan::ViewT *view : written ? m.writes(m.at(place)) : m.reads(m.at(place)))
        if (!view->valid.empty())
          views.push_back(view);
  return views.empty() ? nullptr : m.pick(views);
}

bool dropValid(Mutation &m) {
  plan::ViewT *view = paddedView(m);
  if (view)
    view->valid.clear();
  return view;
}

bool otherValid(Mutation &m) {
  plan::ViewT *view = paddedView(m);
  if (view)
    view->valid[0]->total += m.coin() || view->valid[0]->total < 2 ? 1 : -1;
  return view;
}

bool otherValue(Mutation &m) {
  return m.edit([](const auto &i) { return isLaunch(i) && !i.operation.AsLaunch()->input_values.empty(); },
                [&](plan::InstructionT &i) {
                  auto &values = i.operation.AsLaunch()->input_values;
                  values[m.below(values.size())] = std::uint32_t(m.below(m.plan.program->values.size() + 1));
                });
}

//===--- The recorded program ---===//

bool programAttribute(Mutation &m) {
  std::vector<plan::AttributeT *> found;
  for (const auto &kind : m.plan.program->kinds)
    for (const auto &attribute : kind->attributes)
      if (attribute->kind < 2)
        found.push_back(attribute.get());
  if (found.empty())
    return false;
  plan::AttributeT &changed = *m.pick(found);
  changed.integer += changed.kind == 0;
  changed.number = changed.kind == 1 ? changed.number + 1 : changed.number;
  return true;
}

bool programOperands(Mutation &m) {
  auto &operands = m.plan.program->operands;
  if (operands.size() < 2)
    return false;
  const std::size_t k = m.below(operands.size() - 1);
  std::swap(operands[k], operands[k + 1]);
  return operands[k] != operands[k + 1];
}

bool programKind(Mutation &m) {
  auto &kinds = m.plan.program->op_kinds;
  if (kinds.empty())
    return false;
  kinds[m.below(kinds.size())] = std::uint32_t(m.below(m.plan.program->kinds.size()));
  return true;
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
       {1, 9},
       [](Mutation &m) { return swapPorts(m, &plan::EntryT::inputs); }},
      {"other-operand", "an input is a different tensor of the same type", {2, 3, 4, 7, 8, 9, 10, 12}, otherOperand},
      {"other-copy-source",
       "a copy has a different source of the same type",
       {2, 3, 4, 7, 8, 9, 10, 12},
       otherCopySource},
      {"other-kernel", "a launch runs a different kernel", {1, 2, 4, 7, 9}, otherKernel},
      {"repeat-launch", "a launch runs twice", {2, 7, 9, 10}, repeatLaunch},
      {"drop-in-place-launch",
       "a launch that works in place is left out",
       {2, 9, 10},
       [](Mutation &m) { return dropLaunch(m, [&](const auto &i) { return writesInPlace(i) && !m.isUpdate(i); }); }},
      {"drop-launch", "a launch is left out", {1, 2, 4, 7, 9, 10}, [](Mutation &m) { return dropLaunch(m, isLaunch); }},
      {"drop-copy", "a copy is left out", {2, 9, 10, 12}, [](Mutation &m) { return dropLaunch(m, isCopy); }},
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
      {"double-seed", "the gradient of the loss is doubled", {7, 9}, doubleSeed},
      {"halve-output",
       "a launch writes half of its output",
       {1, 2, 7, 8, 9, 10},
       [](Mutation &m) { return halveView(m, true); }},
      {"halve-input",
       "a launch reads half of an input",
       {1, 2, 7, 8, 9, 10},
       [](Mutation &m) { return halveView(m, false); }},
      {"change-integer", "an integer attribute is different", {1, 2, 9}, changeInteger},
      {"change-number", "a number attribute is different", {1, 7, 9}, changeNumber},
      {"change-list", "a list attribute is different", {1, 9}, changeList},
      {"drop-attribute", "an attribute is left out", {1, 2, 9}, dropAttribute},
      {"transpose-view", "a view of a square tensor is transposed", {1, 2, 9}, transposeView},
      {"broadcast-view", "a view repeats its first element", {1, 2, 8, 9, 10}, broadcastView},
      {"other-dtype", "a view has a different element type", {1, 2, 9}, otherDType},
      {"norm-without-gradient",
       "the norm does not include a gradient",
       {7, 9},
       [](Mutation &m) { return dropInput(m, "power_sum"); }},
      {"guard-without-input",
       "the guard does not include a value",
       {7, 9},
       [](Mutation &m) { return dropInput(m, "all_finite"); }},
      {"drop-valid-extent", "a view includes the padding", {2, 8, 9, 10}, dropValid},
      {"other-valid-extent", "a view has a different valid extent", {1, 2, 8, 9, 10}, otherValid},
      {"other-value", "a launch names a different value of the recorded program", {1, 9, 14}, otherValue},
      {"program-attribute", "an attribute of the recorded program is different", {1, 9, 10}, programAttribute},
      {"program-operands", "two operands of the recorded program are exchanged", {1, 9, 10}, programOperands},
      {"program-op", "an op of the recorded program is different", {1, 9, 10}, programKind},
  };
}

} // namespace sluice
