//===- DeclarationMutants.cpp - tables: parameters, axes, classes, names, versions ----===//
#include "test/mutants/mutate/Mutation.h"

#include <algorithm>

namespace sluice {

namespace {

plan::ParameterT *parameter(Mutation &m) {
  return m.plan.parameters.empty() ? nullptr : m.plan.parameters[m.below(m.plan.parameters.size())].get();
}

bool parameterDim(Mutation &m) {
  plan::ParameterT *changed = parameter(m);
  if (!changed)
    return false;
  changed->dim = std::int32_t(m.below(changed->shape.size() + 2)) - 1;
  return true;
}

bool parameterChunk(Mutation &m) {
  plan::ParameterT *changed = parameter(m);
  if (changed)
    changed->chunk += m.coin() ? 1 : -1;
  return changed;
}

bool parameterAxes(Mutation &m) {
  plan::ParameterT *changed = parameter(m);
  if (!changed)
    return false;
  changed->axes.clear();
  for (std::uint32_t axis = 0; axis < m.plan.mesh.size(); ++axis)
    if (m.coin())
      changed->axes.push_back(axis);
  return true;
}

bool parameterShape(Mutation &m) {
  plan::ParameterT *changed = parameter(m);
  if (!changed || changed->shape.empty())
    return false;
  changed->shape[m.below(changed->shape.size())] += m.coin() ? 1 : -1;
  return true;
}

bool parameterUnit(Mutation &m) {
  plan::ParameterT *changed = parameter(m);
  if (!changed || m.plan.units.size() < 2)
    return false;
  changed->unit = std::uint32_t(m.below(m.plan.units.size()));
  return true;
}

bool changeSplit(Mutation &m) {
  std::vector<plan::TensorSplitT *> splits;
  for (const auto &p : m.plan.parameters)
    if (p->split)
      splits.push_back(p->split.get());
  if (splits.empty())
    return false;
  plan::TensorSplitT &split = *m.pick(splits);
  switch (m.below(4)) {
  case 0:
    split.dim ^= 1;
    break;
  case 1:
    split.segments = split.segments == 1 ? 3 : 1;
    break;
  case 2:
    split.axes.clear();
    for (std::uint32_t axis = 0; axis < m.plan.mesh.size(); ++axis)
      if (m.coin())
        split.axes.push_back(axis);
    break;
  default:
    split.extent += 1;
  }
  return true;
}

bool frozen(Mutation &m) {
  plan::ParameterT *changed = parameter(m);
  if (changed)
    changed->frozen ^= true;
  return changed;
}

bool requiresGrad(Mutation &m) {
  plan::ParameterT *changed = parameter(m);
  if (changed)
    changed->requires_grad ^= true;
  return changed;
}

bool bufferClass(Mutation &m) {
  plan::BufferT &buffer = *m.plan.buffers[m.below(m.plan.buffers.size())];
  buffer.class_ = plan::BufferClass(m.below(11));
  return true;
}

bool bufferUnit(Mutation &m) {
  plan::BufferT &buffer = *m.plan.buffers[m.below(m.plan.buffers.size())];
  buffer.unit = std::int32_t(m.below(m.plan.units.size() + 1)) - 1;
  return true;
}

bool instructionUnit(Mutation &m) {
  return m.edit([](const auto &i) { return isCollective(i) && i.unit >= 0; },
                [&](plan::InstructionT &i) { i.unit = std::int32_t(m.below(m.plan.units.size() + 1)) - 1; });
}

/// The ranks of a model-parallel axis get different rows.
bool dataAxes(Mutation &m) {
  std::vector<std::uint32_t> others;
  for (std::uint32_t axis = 0; axis < m.plan.mesh.size(); ++axis)
    if (m.plan.mesh[axis]->size > 1 && std::ranges::count(m.plan.data_axes, axis) == 0)
      others.push_back(axis);
  if (others.empty())
    return false;
  m.plan.data_axes.push_back(m.pick(others));
  std::ranges::sort(m.plan.data_axes);
  return true;
}

bool gradientDivisor(Mutation &m) {
  plan::UnitT &unit = *m.plan.units[m.below(m.plan.units.size())];
  unit.gradient_divisor = unit.gradient_divisor == 0 ? 1.5 : unit.gradient_divisor * 2;
  return true;
}

/// A parameter is in the list of another unit.
bool unitParameters(Mutation &m) {
  if (m.plan.units.size() < 2)
    return false;
  auto &from = m.plan.units[m.below(m.plan.units.size())]->parameters,
       &to = m.plan.units[m.below(m.plan.units.size())]->parameters;
  if (&from == &to || from.empty())
    return false;
  to.push_back(from.back());
  from.pop_back();
  return true;
}

bool swapEntryNames(Mutation &m) {
  if (m.plan.entries.size() < 2)
    return false;
  const std::size_t first = m.below(m.plan.entries.size() - 1);
  std::swap(m.plan.entries[first]->name, m.plan.entries[first + 1]->name);
  return true;
}

bool bufferDType(Mutation &m) {
  m.plan.buffers[m.below(m.plan.buffers.size())]->dtype = plan::DType(m.below(7));
  return true;
}

bool parameterDType(Mutation &m) {
  plan::ParameterT *changed = parameter(m);
  if (changed)
    changed->dtype = plan::DType(m.below(7));
  return changed;
}

bool swapAxes(Mutation &m) {
  const auto isData = [&](std::size_t axis) { return std::ranges::count(m.plan.data_axes, axis) != 0; };
  std::vector<std::size_t> firsts;
  for (std::size_t a = 0; a + 1 < m.plan.mesh.size(); ++a)
    // All rows on each rank of an axis are right too, if that is not a data axis.
    if (isData(a) == isData(a + 1) || (m.plan.mesh[a]->size > 1 && m.plan.mesh[a + 1]->size > 1))
      firsts.push_back(a);
  if (firsts.empty())
    return false;
  const std::size_t first = m.pick(firsts);
  std::swap(m.plan.mesh[first], m.plan.mesh[first + 1]);
  return true;
}

plan::EntryT &trainingEntry(Mutation &m) {
  for (const auto &entry : m.plan.entries)
    if (entry->name == "train_step")
      return *entry;
  return *m.plan.entries[0];
}

bool inputName(Mutation &m) {
  plan::EntryT &entry = trainingEntry(m);
  if (entry.inputs.empty())
    return false;
  entry.inputs[m.below(entry.inputs.size())]->name = m.coin() ? "step" : "other";
  return true;
}

bool outputName(Mutation &m) {
  plan::EntryT &entry = trainingEntry(m);
  if (entry.outputs.empty())
    return false;
  entry.outputs[m.below(entry.outputs.size())]->name += "_old";
  return true;
}

bool dropOutput(Mutation &m) {
  plan::EntryT &entry = trainingEntry(m);
  if (entry.outputs.empty())
    return false;
  entry.outputs.erase(entry.outputs.begin() + std::int64_t(m.below(entry.outputs.size())));
  return true;
}

bool perRepetition(Mutation &m) {
  plan::EntryT &entry = trainingEntry(m);
  if (entry.inputs.empty())
    return false;
  entry.inputs[m.below(entry.inputs.size())]->per_repetition ^= true;
  return true;
}

bool reductionClass(Mutation &m) {
  const auto place = m.place([](const auto &i) { return isLaunch(i) || isCollective(i); });
  if (!place)
    return false;
  plan::ReductionClass &changed = m.launch(*place) ? m.launch(*place)->reduction : m.collective(*place)->reduction;
  changed = plan::ReductionClass(m.below(4));
  return true;
}

bool unknownKernel(Mutation &m) {
  if (m.plan.kernels.empty())
    return false;
  m.plan.kernels[m.below(m.plan.kernels.size())] += "_old";
  return true;
}

/// A value that the enumeration does not have.
bool unknownEnum(Mutation &m) {
  switch (m.below(4)) {
  case 0:
    m.plan.buffers[m.below(m.plan.buffers.size())]->dtype = plan::DType(17);
    return true;
  case 1:
    return m.edit([](const auto &i) { return isCollective(i); },
                  [](plan::InstructionT &i) { i.operation.AsCollective()->kind = plan::CollectiveKind(9); });
  case 2:
    return m.edit(isWork, [](plan::InstructionT &i) { i.when = plan::When(9); });
  default:
    m.plan.buffers[m.below(m.plan.buffers.size())]->class_ = plan::BufferClass(40);
    return true;
  }
}

bool eventCount(Mutation &m) {
  plan::EntryT &entry = trainingEntry(m);
  if (entry.events == 0)
    return false;
  --entry.events;
  return true;
}

bool processor(Mutation &m) {
  plan::StreamT &stream = *m.plan.streams[m.below(m.plan.streams.size())];
  stream.processor = stream.processor == plan::Processor::host ? plan::Processor::device : plan::Processor::host;
  return true;
}

bool dropFunction(Mutation &m) {
  auto &functions = m.plan.program->functions;
  if (functions.empty())
    return false;
  functions.erase(functions.begin() + std::int64_t(m.below(functions.size())));
  return true;
}

} // namespace

std::vector<MutantKind> declarationKinds() {
  return {
      {"parameter-dim", "a parameter is sharded along a different dim", {1, 8}, parameterDim},
      {"parameter-chunk", "a parameter has a different chunk", {1, 8}, parameterChunk},
      {"parameter-axes", "a parameter is sharded over different axes", {1, 4, 7, 8}, parameterAxes},
      {"parameter-shape", "a parameter has a different shape", {1, 8, 9, 14, 15}, parameterShape},
      {"parameter-unit", "a parameter is in a different unit", {1, 4, 8}, parameterUnit},
      {"tensor-split", "the tensor split of a parameter is different", {1, 7, 8, 9}, changeSplit},
      {"change-frozen", "a parameter is declared frozen, or not", {10}, frozen},
      {"change-requires-grad", "a parameter is declared trained, or not", {10}, requiresGrad},
      {"buffer-class", "a buffer has a different class", {1, 4, 8, 15}, bufferClass},
      {"buffer-unit", "a buffer is of a different unit", {1, 4, 8}, bufferUnit},
      {"collective-unit", "a collective is of a different unit", {1, 4, 8}, instructionUnit},
      {"data-axes", "the data are also distributed over a model-parallel axis", {1, 7, 9}, dataAxes},
      {"gradient-divisor", "the gradients of a unit have a different declared divisor", {1, 7, 9}, gradientDivisor},
      {"unit-parameters", "a parameter is in the list of a different unit", {1, 4, 8}, unitParameters},
      {"swap-entry-names", "two entry points have each other's name", {1, 2, 4, 8, 9, 10, 12}, swapEntryNames},
      {"buffer-dtype", "a buffer has a different element type", {1, 2, 8, 9, 15}, bufferDType},
      {"parameter-dtype", "a parameter has a different element type", {1, 8, 9, 15}, parameterDType},
      {"swap-axes", "two axes of the mesh are exchanged", {1, 5, 7, 8, 9}, swapAxes},
      {"input-name", "an input has a different name", {1, 9, 14}, inputName},
      {"output-name", "an output has a different name", {1, 9, 15}, outputName},
      {"drop-output", "an output is not declared", {1, 9, 12, 15}, dropOutput},
      {"change-per-repetition",
       "an input has one slice instead of one per micro-batch, or the reverse",
       {1, 2, 9},
       perRepetition},
      {"reduction-class", "a reduction has a different class", {1, 5, 13}, reductionClass},
      {"unknown-kernel", "a kernel is not in the catalogue", {1}, unknownKernel},
      {"unknown-enum", "an enumeration has an unknown value", {1}, unknownEnum},
      {"event-count", "an entry point has fewer events than it uses", {1}, eventCount},
      {"processor", "a stream is of the other processor", {1}, processor},
      {"drop-function", "a function of the recorded program is left out", {1, 9, 10, 15}, dropFunction},
      {"wrong-digest",
       "the digest is wrong",
       {17},
       [](Mutation &m) {
         m.plan.digest[m.below(m.plan.digest.size())] ^= 1;
         return true;
       }},
      {"catalogue-version",
       "the catalogue has a different version",
       {17},
       [](Mutation &m) {
         ++m.plan.catalogue;
         return true;
       }},
      {"major-version",
       "the schema has a different version",
       {17},
       [](Mutation &m) {
         ++m.plan.major;
         return true;
       }},
  };
}

} // namespace sluice
