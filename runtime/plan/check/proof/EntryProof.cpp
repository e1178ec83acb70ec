//===- EntryProof.cpp - repetitions, what holds before and after an entry point -------------===//
//
// See EntryProof.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/EntryProof.h"

#include "runtime/base/Text.h"
#include "runtime/kernel/catalogue/Catalogue.h"

#include <algorithm>
#include <set>

namespace sluice::check::proof {

/// Repetitions of an entry point that are followed one by one, at most.
constexpr std::uint32_t maxRepetitions = 4096;

EntryProof::EntryProof(const plan::PlanT &plan, Numbering &numbering, std::uint32_t e)
    : plan(plan), kernels(plan.kernels), numbering(numbering), e(e), entry(*plan.entries[e]), contents(plan, numbering),
      sizes(meshSizes(plan)) {
  for (const KernelRecord &record : catalogue())
    kernels.emplace_back(record.name);
  function = numbering.function(entry.name);
  dataAxes = setOf(plan.data_axes);
}

plan::ViewT EntryProof::fullView(std::uint32_t buffer) const {
  plan::ViewT view;
  view.buffer = buffer;
  view.dtype = plan.buffers[buffer]->dtype;
  view.shape = plan.buffers[buffer]->shape;
  return view;
}

const std::optional<EntryProof::ParameterShard> &EntryProof::shardOfParameter(const plan::ParameterT &parameter) {
  const auto [found, isNew] = parameterShards.try_emplace(&parameter);
  if (!isNew)
    return found->second;
  // The part of the parameter with which the rank computes.
  std::vector<DimSharding> dims;
  for (std::int64_t extent : parameter.shape)
    dims.push_back({{}, 1, extent});
  const auto divide = [&](DimSharding &dim, const std::vector<std::uint32_t> &axes, std::int64_t segments,
                          std::int64_t local) {
    dim.extent = dim.local / segments;
    dim.segments = segments;
    dim.local = local;
    for (std::uint32_t axis : axes)
      if (sizes[axis] > 1)
        dim.axes.push_back(axis);
  };
  if (parameter.split)
    divide(dims[parameter.split->dim], parameter.split->axes, parameter.split->segments, parameter.split->extent);
  std::optional<Shard> part = shardOf(parameter.shape, dims, sizes);
  if (!part)
    return found->second;
  // The shard of that part.
  const Shape whole = shapeOf(part->at), shape = isFlat(parameter) ? Shape{elementsOf(whole)} : whole;
  dims.clear();
  for (std::int64_t extent : shape)
    dims.push_back({{}, 1, extent});
  if (parameter.dim >= 0)
    divide(dims[isFlat(parameter) ? 0 : std::size_t(parameter.dim)], parameter.axes, 1, parameter.chunk);
  if (std::optional<Shard> shard = shardOf(shape, dims, sizes))
    found->second = {std::move(*part), std::move(*shard)};
  return found->second;
}

std::optional<Reading> EntryProof::shardReading(const plan::ParameterT &parameter, RootId root) {
  const std::optional<ParameterShard> &own = shardOfParameter(parameter);
  if (!own)
    return std::nullopt;
  Reading reading;
  reading.meaning.root = root;
  if (!own->part.steps.empty())
    reading.meaning.part = contents.parts.of(own->part);
  reading.setShard(own->shard);
  simplify(reading);
  return reading;
}

void EntryProof::addInputs() {
  const auto hold = [&](std::uint32_t buffer, const plan::ParameterT &parameter, const std::string &state) {
    const RootId root =
        stateRoots.emplace_back(numbering.persistent({parameter.name, state}, elementsOf(parameter.shape)));
    const plan::ViewT view = fullView(buffer);
    if (std::optional<Reading> reading = shardReading(parameter, root))
      write(view, std::move(*reading));
    else
      leaveOpen(view, "the shards of parameter '" + parameter.name + "'");
  };
  // An entry point that initializes reads no state.
  for (const auto &parameter : plan.parameters) {
    if (!function)
      break;
    hold(parameter->buffer, *parameter, "");
    for (const auto &state : parameter->states)
      hold(state->buffer, *parameter, state->name);
  }
  for (const auto &port : entry.inputs) {
    const bool isSeed = port->role == plan::PortRole::seed;
    const RootId root = function ? numbering.input(*function, port->name) : isSeed ? numbering.seed() : 0;
    if (root == 0)
      continue;
    Fact fact;
    fact.meaning.root = root;
    fact.dtype = port->view->dtype;
    fact.stored = Storage(fact.dtype);
    fact.offset = std::int64_t(port->view->offset / dtypeBytes(baseType(fact.dtype)));
    fact.repetitionStride = port->view->repetition_stride;
    fact.loops = {{elementsOf(port->view->shape), 1, 1}};
    if (elementsOf(port->view->shape) == 1)
      fact.loops.clear();
    if (isDense(*port->view) && elementsOf(port->view->shape) == numbering.root(root).elements)
      contents.of(port->view->buffer).push_back(std::move(fact));
  }
}

void EntryProof::beginVariables() {
  for (const auto &variable : plan.variables)
    write(fullView(variable->buffer), readingOf(*variable, rootOf(*variable)));
}

RootId EntryProof::rootOf(const plan::VariableT &variable) {
  return numbering.persistent({variable.name, ""}, elementsOf(plan.buffers[variable.buffer]->shape));
}

Reading EntryProof::readingOf(const plan::VariableT &variable, RootId root) const {
  Reading reading;
  reading.meaning.root = root;
  reading.meaning.first = reading.meaning.last = repetition;
  reading.at = denseIndexing(plan.buffers[variable.buffer]->shape);
  return reading;
}

Verdict EntryProof::checkVariables() {
  for (const auto &variable : plan.variables) {
    const RootId root = rootOf(*variable);
    const plan::ViewT view = fullView(variable->buffer);
    const auto written = function->writes.find({variable->name, ""});
    Mismatch mismatch;
    if (written == function->writes.end()) {
      const std::optional<Reading> reading = read(view);
      if (!reading || !reading->isKnown())
        mismatch = Mismatch::unknown(reading ? reading->meaning.unproved : Reason("is not known"));
      else if (const Reading before = readingOf(*variable, root); reading->meaning != before.meaning)
        mismatch.text = "hold " + describe(reading->meaning) + ", expected " + numbering.describe(root);
      else if (!reading->hasElementsOf(before))
        mismatch.text = "hold " + numbering.describe(root) + " in another order";
    } else if (variable->averaged && dataAxes != 0 && repetition + 1 == repeat) {
      if (!isMeanOfRanks(view, written->second, mismatch))
        mismatch.text = "expected the mean over the ranks along " + namesOf(dataAxes) + ": " + mismatch.text;
    } else {
      match(view, written->second, mismatch);
    }
    const std::string what =
        concat("running statistics '", variable->name, "' after micro-batch ", repetition, " of '", entry.name, "': ");
    if (mismatch.isUnknown)
      addUnknown(what, mismatch.reason(), written != function->writes.end() && numbering.isOpen(written->second));
    else if (!mismatch.text.empty())
      return refuse(9, what + mismatch.text);
  }
  return {};
}

bool EntryProof::isMeanOfRanks(const plan::ViewT &view, std::uint32_t id, Mismatch &mismatch) {
  const Value &expected = numbering.value(id);
  const std::optional<Reading> reading = read(view);
  if (!reading || !reading->meaning.unproved.empty()) {
    mismatch = Mismatch::unknown(reading ? reading->meaning.unproved : Reason("the content is not known"));
    return false;
  }
  const Meaning &own = reading->meaning;
  const double ranks = double(groupSize(plan, plan.data_axes));
  mismatch = {9, "holds " + describe(own), false};
  if (!reading->stored.isWithin(expected.stored)) {
    mismatch.text += " in " + reading->stored.text();
    return false;
  }
  if (own.root != expected.root || own.first != repetition || own.summed != dataAxes || own.partial != 0 ||
      !areClose(own.coefficient * ranks, expected.coefficient) || !reading->hasElementsOf({{}, expected.at}))
    return false;
  mismatch = {};
  return true;
}

std::set<std::uint32_t> EntryProof::specialRepetitions(const plan::SectionT &section) {
  std::set<std::uint32_t> special{0, section.repeat - 1};
  for (const auto &instruction : section.instructions)
    if (instruction->when == plan::When::listed)
      special.insert(instruction->repetitions.begin(), instruction->repetitions.end());
  return special;
}

bool EntryProof::advance(const std::vector<std::vector<Fact>> &before, std::uint32_t from, std::uint32_t to) {
  std::vector<std::vector<Fact>> &now = contents.all();
  const auto follows = [&](const Fact &later, const Fact &earlier) {
    const auto isNext = [&](std::uint32_t own, std::uint32_t last) { return own == last || own == from; };
    Fact same = earlier;
    same.meaning.first = later.meaning.first;
    same.meaning.last = later.meaning.last;
    return isNext(later.meaning.first, earlier.meaning.first) && isNext(later.meaning.last, earlier.meaning.last) &&
           same == later;
  };
  for (std::size_t b = 0; b < now.size(); ++b)
    if (!std::ranges::equal(now[b], before[b], follows))
      return false;
  for (std::size_t b = 0; b < now.size(); ++b)
    for (std::size_t k = 0; k < now[b].size(); ++k) {
      Meaning &meaning = now[b][k].meaning;
      const Meaning &earlier = before[b][k].meaning;
      meaning.first = meaning.first != earlier.first ? to : meaning.first;
      meaning.last = meaning.last != earlier.last ? to : meaning.last;
    }
  return true;
}

Verdict EntryProof::step(const plan::InstructionT &instruction, std::uint32_t i) {
  if (const plan::LaunchT *own = instruction.operation.AsLaunch())
    return launch(*own, i);
  if (const plan::CollectiveT *own = instruction.operation.AsCollective())
    return collective(*own, i);
  if (const plan::CopyT *copy = instruction.operation.AsCopy()) {
    passThrough(*copy->source, *copy->destination, 1);
    return {};
  }
  if (const plan::FillT *fill = instruction.operation.AsFill()) {
    Reading reading;
    reading.meaning.root = numbering.constant(fill->value);
    reading.meaning.first = reading.meaning.last = repetition;
    reading.at = uniformIndexing(fill->destination->shape);
    write(*fill->destination, std::move(reading));
  } else if (const plan::ReleaseT *release = instruction.operation.AsRelease()) {
    for (std::uint32_t buffer : release->buffers)
      contents.clear(buffer);
  }
  return {};
}

Verdict EntryProof::follow() {
  std::uint32_t firstInstruction = 0, followed = 0;
  for (std::size_t s = 0; s < entry.sections.size(); ++s) {
    const plan::SectionT &section = *entry.sections[s];
    if (s == 0)
      repeat = section.repeat;
    else if (section.repeat != 1)
      return refuse(9, "section '" + section.name + "' of '" + entry.name + "' repeats after the micro-batches");
    const std::set<std::uint32_t> special = specialRepetitions(section);
    for (std::uint32_t r = 0; r < section.repeat; ++r) {
      if (++followed > maxRepetitions)
        return refuse(9, concat("more than ", maxRepetitions, " repetitions of '", section.name,
                                "' with different instructions"));
      // The repetitions until the next one with other instructions are like this one.
      const auto after = special.upper_bound(r);
      const std::uint32_t next = after == special.end() ? section.repeat : *after;
      std::vector<std::vector<Fact>> before;
      const bool mayAdvance = r >= 2 && next > r + 1 && !special.contains(r) && !special.contains(r - 1);
      if (mayAdvance)
        before = contents.all();
      slice = r;
      repetition = s == 0 ? r : repeat - 1;
      if (s == 0 && function)
        beginVariables();
      for (std::uint32_t k = 0; k < section.instructions.size(); ++k)
        if (isIssued(*section.instructions[k], r, section.repeat))
          SLUICE_CHECK(step(*section.instructions[k], firstInstruction + k));
      // Also what later sections leave.
      if (function)
        SLUICE_CHECK(checkVariables());
      if (mayAdvance && advance(before, r, next - 1))
        r = next - 1;
    }
    firstInstruction += std::uint32_t(section.instructions.size());
  }
  return {};
}

Verdict EntryProof::checkPersistent() {
  auto nextRoot = stateRoots.begin();
  const auto check = [&](std::uint32_t buffer, const plan::ParameterT &parameter, const std::string &state) -> Verdict {
    const RootId old = *nextRoot++;
    const auto written = function->writes.find({parameter.name, state});
    const auto what = [&] {
      return concat("'", entry.name, "' leaves in ", state.empty() ? "" : "state '" + state + "' of ", "parameter '",
                    parameter.name, "' a tensor that ");
    };
    Value expected{old, 1, {}, Storage(plan.buffers[buffer]->dtype)};
    if (written != function->writes.end()) {
      expected = numbering.value(written->second);
      expected.stored.add(Storage(plan.buffers[buffer]->dtype));
      if (expected.root == 0 || !isRowMajor(expected.at, numbering.type(written->second).shape)) {
        addUnknown("the value that is written to '" + parameter.name + "'", {std::string(), true}, true);
        return {};
      }
    }
    const std::optional<Reading> own = shardReading(parameter, expected.root);
    if (!own) {
      addUnknown("the shards of parameter '" + parameter.name + "'", {std::string(), true}, true);
      return {};
    }
    const std::optional<Reading> reading = read(fullView(buffer));
    if (!reading || !reading->isKnown()) {
      addUnknown(what() + (reading ? "is not related to the program: " : "is not known"),
                 reading ? reading->meaning.unproved : Reason(),
                 written != function->writes.end() && numbering.isOpen(written->second));
      return {};
    }
    Mismatch mismatch;
    if (!means(*reading, expected, mismatch))
      return refuse(mismatch.property == 9 ? 10 : mismatch.property, what() + mismatch.text);
    if (!reading->hasElementsOf(*own))
      addUnknown(what() + "has other elements of " + numbering.describe(expected.root) + " than its shard", {}, false);
    return {};
  };
  for (const auto &parameter : plan.parameters) {
    SLUICE_CHECK(check(parameter->buffer, *parameter, ""));
    for (const auto &state : parameter->states)
      SLUICE_CHECK(check(state->buffer, *parameter, state->name));
  }
  return {};
}

Verdict EntryProof::checkOutputs() {
  const std::uint32_t count = function->endOutput - function->firstOutput;
  for (std::size_t k = 0; k < entry.outputs.size(); ++k) {
    const plan::PortT &port = *entry.outputs[k];
    Mismatch mismatch;
    if (k >= count) {
      if (count == 0 || !isRankLoss(*port.view))
        addUnknown("output '" + port.name + "' of '" + entry.name + "' is not in the unsharded program", {}, false);
      continue;
    }
    const std::uint32_t id = plan.program->outputs[function->firstOutput + k];
    const std::optional<Match> found = match(*port.view, id, mismatch);
    const std::string what = "output '" + port.name + "' of '" + entry.name + "' ";
    if (!found && mismatch.isUnknown)
      addUnknown(what + "is not related to the program: ", mismatch.reason(), numbering.isOpen(id));
    else if (!found && !mismatch.isUnknown)
      return refuse(mismatch.property, what + mismatch.text);
    else if (found && std::ranges::any_of(found->dims, &DimSharding::isSharded))
      return refuse(9, what + "is a shard of " + numbering.describeValue(id));
  }
  if (entry.outputs.size() < count)
    return refuse(9, concat("'", entry.name, "' has ", entry.outputs.size(), " outputs, expected ", count));
  return {};
}

bool EntryProof::isRankLoss(const plan::ViewT &view) {
  const Value &loss = numbering.value(plan.program->outputs[function->firstOutput]);
  const std::optional<Reading> reading = read(view);
  if (!reading)
    return false;
  const Meaning &own = reading->meaning;
  const double ranks = double(groupSize(plan, plan.data_axes));
  return reading->stored.isWithin(loss.stored) && own.root == numbering.root(loss.root).totalOf && own.root != 0 &&
         own.first == 0 && own.last == repeat - 1 && own.summed == 0 && own.partial == 0 &&
         areClose(own.coefficient, loss.coefficient * ranks) && reading->hasElementsOf({{}, loss.at});
}

void EntryProof::addUnknown(const std::string &what, const Reason &reason, bool isOpen) {
  if (std::string &text = isOpen || reason.lacksRule ? notProved : unrelated; text.empty())
    text = what + reason.text;
}

Result EntryProof::run() {
  Result result;
  addInputs();
  result.refusal = follow();
  if (!result.refusal)
    result.refusal = function ? checkPersistent() : checkInitialValues();
  if (!result.refusal && function)
    result.refusal = checkOutputs();
  // If no rule is missing, a tensor without a relation is not what the program computes.
  if (!result.refusal && !unrelated.empty())
    result.refusal = refuse(9, unrelated);
  result.notProved = notProved;
  result.facts = facts;
  return result;
}

} // namespace sluice::check::proof
