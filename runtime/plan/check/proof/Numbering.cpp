//===- Numbering.cpp - equal values of the unsharded program get one number -----------------===//
#include "runtime/plan/check/proof/Numbering.h"

#include "runtime/base/Text.h"
#include "runtime/plan/LaunchAttributes.h"
#include "runtime/plan/check/Roles.h"
#include "runtime/plan/check/proof/Forms.h"
#include "runtime/plan/check/proof/KernelRules.h"
#include "runtime/plan/check/proof/Key.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace sluice::check::proof {
namespace {

bool commutes(const std::string &op) { return op == "model.add" || op == "model.multiply" || op == "model.maximum"; }

} // namespace

const plan::AttributeT *attributeOf(const plan::ProgramKindT &kind, std::string_view name) {
  for (const auto &attribute : kind.attributes)
    if (attribute->name == name)
      return attribute.get();
  return nullptr;
}

std::span<const std::int64_t> listOf(const plan::ProgramKindT &kind, std::string_view name) {
  const plan::AttributeT *attribute = attributeOf(kind, name);
  return attribute ? std::span<const std::int64_t>(attribute->list) : std::span<const std::int64_t>();
}

bool isFlagSet(const plan::ProgramKindT &kind, std::string_view name) {
  const plan::AttributeT *attribute = attributeOf(kind, name);
  return attribute && attribute->integer != 0;
}

std::string textOf(const plan::ProgramKindT &kind, std::string_view name) {
  std::string text;
  for (std::int64_t character : listOf(kind, name))
    text += char(character);
  return text;
}

Numbering::Numbering(const plan::PlanT &plan) : plan(plan), program(*plan.program) {
  values.resize(program.values.size() + 1);
  definitions.resize(program.values.size() + 1, {-1, 0});
  open.resize(program.values.size() + 1);
  roots.reserve(program.values.size() + 1);
  roots.resize(1);
  byKey.reserve(program.values.size());
  numberKinds();
  dataRanks = double(groupSize(plan, plan.data_axes));
  for (const auto &type : program.types)
    if (elementsOf(type->shape) == 0)
      unproved = "the unsharded program has an empty tensor";
  for (const auto &parameter : plan.parameters)
    if (const double divisor = plan.units[parameter->unit]->gradient_divisor; divisor != 0)
      divisors[parameter->name] = divisor;
  for (const auto &parameter : plan.parameters) {
    storage[{parameter->name, ""}] = Storage(parameter->dtype);
    for (const auto &state : parameter->states)
      storage[{parameter->name, state->name}] = Storage(plan.buffers[state->buffer]->dtype);
  }
  for (const auto &variable : plan.variables)
    variables.insert(variable->name);
  std::uint32_t op = 0, input = 0, output = 0;
  // Ranks divide tensors along the other axes, and may compute an op by one of its forms.
  for (std::uint32_t axis = 0; axis < plan.mesh.size(); ++axis)
    needsForms =
        needsForms || (plan.mesh[axis]->size > 1 && std::ranges::find(plan.data_axes, axis) == plan.data_axes.end());
  for (const auto &recorded : plan.program->functions) {
    NumberedFunction function{input, recorded->inputs_end, output, recorded->outputs_end, {}};
    const std::string &name = program.names[recorded->name];
    double repeat = 1;
    for (const auto &entry : plan.entries)
      if (entry->name == name && !entry->sections.empty())
        repeat = entry->sections.front()->repeat;
    for (; input < recorded->inputs_end; ++input) {
      const std::uint32_t id = program.inputs[input];
      const std::string &inputName = program.names[program.input_names[input]];
      if (id == 0)
        continue;
      const RootId root =
          rootOf(Key("input").add(name).add(inputName).add(std::int64_t(input)).take(), elementsOf(type(id).shape));
      roots[root].varies = !isOfStep(program.input_roles[input]);
      setDense(id, root);
    }
    for (; op < recorded->ops_end; ++op)
      numberOp(op, function, repeat);
    output = recorded->outputs_end;
    functions.emplace(name, std::move(function));
  }
}

const NumberedFunction *Numbering::function(const std::string &name) const {
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : &found->second;
}

RootId Numbering::persistent(const Persistent &name, std::int64_t elements) {
  const RootId root = rootOf(Key("read").add(name.first).add(name.second).take(), elements);
  roots[root].isVariable = roots[root].varies = variables.contains(name.first);
  return root;
}

RootId Numbering::input(const NumberedFunction &function, const std::string &name) const {
  for (std::uint32_t i = function.firstInput; i < function.endInput; ++i)
    if (program.names[program.input_names[i]] == name && program.inputs[i] != 0)
      return values[program.inputs[i]].root;
  return 0;
}

RootId Numbering::rootOf(std::string_view key, std::int64_t elements) {
  if (const auto found = byKey.find(key); found != byKey.end())
    return found->second;
  char *kept = static_cast<char *>(memory.allocate(key.size(), 1));
  std::ranges::copy(key, kept);
  const RootId id = RootId(roots.size());
  byKey.emplace(std::string_view(kept, key.size()), id);
  roots.emplace_back().elements = elements;
  return id;
}

bool Numbering::isExtreme(double coefficient) const {
  // The mean over ranks and micro-batches may be taken in steps, before or after a sum.
  constexpr double steps = 0x1p64;
  const double size = std::abs(coefficient);
  return size != 0 && (size < smallest / steps || size > largest * steps);
}

void Numbering::set(std::uint32_t id, Value value) {
  if (id == 0 || id >= values.size())
    return;
  if (roots[value.root].value == 0)
    roots[value.root].value = id;
  if (const double size = std::abs(value.coefficient); size != 0) {
    smallest = std::min(smallest, size);
    largest = std::max(largest, size);
  }
  value.stored.add(Storage(type(id).dtype));
  values[id] = std::move(value);
}

void Numbering::setDense(std::uint32_t id, RootId root) { set(id, {root, 1, denseIndexing(type(id).shape)}); }

RootId Numbering::constant(double value) { return rootOf(Key("constant").add(value).take(), 1); }

RootId Numbering::partOf(RootId of, const Indexing &at) {
  Digits digits = flattened(at);
  std::ranges::sort(digits, std::greater(), &Digit::step);
  digits = joined(digits);
  const std::int64_t elements = extentOf(digits);
  if (at.base == 0 && elements == roots[of].elements && (digits.empty() || digits == Digits{{elements, 1}}))
    return of;
  Key key("elements");
  key.add(std::int64_t(of)).add(at.base);
  for (const Digit &digit : digits)
    key.add(digit.extent).add(digit.step);
  return rootOf(key.take(), elements);
}

RootId Numbering::randomNumbers(const KernelRecord &kernel, const Attributes &attributes, std::int64_t elements) {
  Key key(kernel.name);
  for (const AttributeRecord &record : kernel.attributes)
    key.add(attributes.integer(record.name, std::int64_t(record.fallback)))
        .add(attributes.number(record.name, record.fallback))
        .add(attributes.list(record.name));
  return rootOf(key.add(elements).take(), elements);
}

double Numbering::divisorOf(const std::string &parameter) const {
  const auto found = divisors.find(parameter);
  return found == divisors.end() ? dataRanks : found->second;
}

void Numbering::numberKinds() {
  for (std::size_t k = kindNumbers.size(); k < program.kinds.size(); ++k) {
    const plan::ProgramKindT &kind = *program.kinds[k];
    Key key(kind.op);
    for (const auto &attribute : kind.attributes)
      key.add(attribute->name)
          .add(std::int64_t(attribute->kind))
          .add(attribute->integer)
          .add(attribute->number)
          .add(std::span<const std::int64_t>(attribute->list));
    kindNumbers.push_back(equalKinds.emplace(key.take(), std::uint32_t(equalKinds.size())).first->second);
  }
}

void Numbering::numberOp(std::uint32_t op, NumberedFunction &function, double repeat) {
  const plan::ProgramKindT &kind = kindOf(op);
  const auto operands = operandsOf(op), results = resultsOf(op);
  // Ops without a kernel that are followed otherwise keep or multiply their operand, or move its elements.
  const bool isOpen = std::ranges::any_of(operands, [&](std::uint32_t operand) { return bool(open[operand]); });
  for (std::uint32_t r = 0; r < results.size(); ++r) {
    definitions[results[r]] = {op, r};
    open[results[r]] = isOpen;
  }
  const std::string &symbol = program.names[program.op_symbols[op]];
  const bool isUnary = operands.size() == 1 && operands[0] != 0 && values[operands[0]].root != 0;
  if (kind.op == "model.read" && results.size() == 1 && results[0] != 0) {
    const Persistent name(symbol, textOf(kind, "state"));
    const auto kept = storage.find(name);
    const Shape &shape = type(results[0]).shape;
    // A read casts to the type of its result.
    return set(results[0], {persistent(name, elementsOf(shape)), 1, denseIndexing(shape),
                            kept == storage.end() ? Storage() : kept->second});
  }
  if (kind.op == "model.write" && operands.size() == 1) {
    function.writes[{symbol, textOf(kind, "state")}] = operands[0];
    return;
  }
  if (kind.op == "model.constant" && results.size() == 1 && results[0] != 0) {
    const plan::AttributeT *number = attributeOf(kind, "value");
    if (number && number->kind != 2) {
      const RootId root = constant(storedNumber(*number));
      return set(results[0], {root, 1, uniformIndexing(type(results[0]).shape)});
    }
  }
  if ((kind.op == "model.gradient" || kind.op == "model.step_mean" || kind.op == "model.all_reduce") && isUnary &&
      results.size() == 1 && results[0] != 0) {
    Value value = values[operands[0]];
    if (kind.op == "model.all_reduce") {
      value.root = total("rank total", value.root, &Root::rankTotalOf);
      roots[value.root].varies = true;
      if (textOf(kind, "reduction") == "mean")
        value.coefficient /= dataRanks;
    } else {
      value.root = total("total", value.root, &Root::totalOf);
      value.coefficient /= kind.op == "model.gradient" ? divisorOf(symbol) : dataRanks * repeat;
    }
    return set(results[0], std::move(value));
  }
  if (numberView(kind, op) || numberRows(kind, op))
    return;
  if (op < plan.program->op_kinds.size() && unproved.empty() && wrong.empty())
    if (const std::string problem = typeProblem(op); !problem.empty())
      wrong = concat("op ", op, " of the unsharded program (", kind.op, "): ", problem);
  if (needsForms && Forms(*this, function, repeat).number(op))
    return;
  for (std::uint32_t result : resultsOf(op))
    open[result] = open[result] || kernelOfOp(kind.op).empty();
  numberResults(kind, op);
}

RootId Numbering::largestTerm(RootId of) {
  const RootId id = rootOf(Key("largest term").add(std::int64_t(of)).take(), roots[of].elements);
  roots[id].varies = roots[of].varies;
  roots[id].value = roots[of].value;
  return id;
}

std::span<const std::uint32_t> Numbering::opsOn(std::string_view kernel, std::span<const RootId> operands) {
  const auto keyOn = [](std::string_view name, std::span<const RootId> ids) {
    Key key(name);
    for (RootId id : ids)
      key.add(std::int64_t(id));
    return key.take();
  };
  for (; indexedOps < program.op_kinds.size(); ++indexedOps) {
    const std::string_view own = kernelOfOp(kindOf(std::uint32_t(indexedOps)).op);
    std::vector<RootId> ids;
    for (std::uint32_t operand : operandsOf(std::uint32_t(indexedOps))) {
      const Root &root = roots[values[operand].root];
      ids.push_back(root.totalOf != 0 ? root.totalOf : root.rankTotalOf != 0 ? root.rankTotalOf : values[operand].root);
    }
    if (!own.empty())
      byOperands[keyOn(own, ids)].push_back(std::uint32_t(indexedOps));
  }
  const auto found = byOperands.find(keyOn(kernel, operands));
  return found == byOperands.end() ? std::span<const std::uint32_t>() : found->second;
}

void Numbering::numberResults(const plan::ProgramKindT &kind, std::uint32_t op) {
  const auto operands = operandsOf(op), results = resultsOf(op);
  if (kind.op == "model.power_sum" && results.size() == 1 && results[0] != 0) {
    const plan::AttributeT *p = attributeOf(kind, "p");
    std::vector<Multiple> terms;
    Value sum;
    for (std::uint32_t operand : operands) {
      terms.push_back({partOf(values[operand].root, values[operand].at), values[operand].coefficient});
      sum.stored.add(values[operand].stored);
    }
    sum.root = powerSum(p ? storedNumber(*p) : 2, std::move(terms));
    sum.at = denseIndexing(type(results[0]).shape);
    return set(results[0], std::move(sum));
  }
  if (kind.op == "model.add" && operands.size() == 2 && results.size() == 1 && results[0] != 0) {
    // A sum of sums of powers.
    const Root &a = roots[values[operands[0]].root], &b = roots[values[operands[1]].root];
    if (!a.powers.empty() && !b.powers.empty() && a.p == b.p) {
      std::vector<Multiple> terms = a.powers;
      terms.insert(terms.end(), b.powers.begin(), b.powers.end());
      Value sum{powerSum(a.p, std::move(terms)), 1, denseIndexing(type(results[0]).shape), values[operands[0]].stored};
      sum.stored.add(values[operands[1]].stored);
      if (sum.root != 0)
        return set(results[0], std::move(sum));
    }
    const Value &left = values[operands[0]], &right = values[operands[1]];
    const Shape &shape = type(results[0]).shape;
    const auto isFull = [&](const Value &value) {
      return isRowMajor(value.at, shape) && roots[value.root].elements == elementsOf(shape);
    };
    if (isFull(left) && isFull(right)) {
      // A sum of totals is the total of the sum.
      const RootId a = roots[left.root].totalOf, b = roots[right.root].totalOf;
      Value sum{0, 1, denseIndexing(shape), left.stored};
      sum.stored.add(right.stored);
      if (a != 0 && b != 0 && left.coefficient == right.coefficient) {
        sum.root = total("total", sumOf({a, 1}, {b, 1}), &Root::totalOf);
        sum.coefficient = left.coefficient;
      } else {
        sum.root = sumOf({left.root, left.coefficient}, {right.root, right.coefficient});
      }
      return set(results[0], std::move(sum));
    }
  }
  bool varies = false, isDefined = true;
  for (std::uint32_t operand : operands) {
    isDefined = isDefined && values[operand].root != 0;
    varies = varies || roots[values[operand].root].varies;
  }
  Key key("op");
  key.add(std::int64_t(kindNumbers[program.op_kinds[op]]));
  if (commutes(kind.op)) {
    std::vector<std::string> parts;
    for (std::uint32_t operand : operands)
      parts.push_back(Key("").add(values[operand]).take());
    std::sort(parts.begin(), parts.end());
    for (const std::string &part : parts)
      key.add(part);
  } else {
    for (std::uint32_t operand : operands)
      key.add(values[operand]);
  }
  // Operands without a number are equal to nothing.
  if (!isDefined)
    key.add(std::int64_t(op));
  const std::string text = key.take();
  for (std::uint32_t r = 0; r < results.size(); ++r) {
    if (results[r] == 0)
      continue;
    const RootId id = rootOf(Key(text)
                                 .add(std::int64_t(r))
                                 .add(std::span<const std::int64_t>(type(results[r]).shape))
                                 .add(isFloatType(type(results[r]).dtype) ? -1 : std::int64_t(type(results[r]).dtype))
                                 .take(),
                             elementsOf(type(results[r]).shape));
    Root &root = roots[id];
    root.varies = varies;
    if (kind.op == "model.concat" && isDefined) {
      const plan::AttributeT *dim = attributeOf(kind, "dim");
      root.parts.assign(operands.begin(), operands.end());
      concatenations[values[operands[0]].root].push_back(results[r]);
      root.dim = dim ? std::size_t(dim->integer) : 0;
      Value whole{id, 1, denseIndexing(type(results[r]).shape)};
      for (std::uint32_t operand : operands)
        whole.stored.add(values[operand].stored);
      set(results[r], std::move(whole));
      continue;
    }
    setDense(results[r], id);
  }
}

std::string Numbering::describeValue(std::uint32_t id) const {
  if (id == 0)
    return "no value of the unsharded program";
  const auto [op, result] = definitions[id];
  std::string text = concat("value ", id);
  if (op < 0) {
    for (std::size_t i = 0; i < program.inputs.size(); ++i)
      if (program.inputs[i] == id)
        return text + " (input '" + program.names[program.input_names[i]] + "')";
    return text;
  }
  text += " (" + kindOf(std::uint32_t(op)).op;
  const std::string &symbol = program.names[program.op_symbols[op]], &block = program.names[program.op_blocks[op]];
  if (!symbol.empty()) {
    text += " '" + symbol + "'";
    if (const std::string state = textOf(kindOf(std::uint32_t(op)), "state"); !state.empty())
      text += " state '" + state + "'";
  } else if (!block.empty()) {
    text += " of '" + block + "'";
  }
  return text + ")";
}

std::string Numbering::describe(RootId id, int depth) const {
  const Root &root = roots[id];
  if (root.value == 0 && root.totalOf != 0)
    return depth == 0 ? "a sum over ranks and micro-batches"
                      : "the sum over ranks and micro-batches of " + describe(root.totalOf, depth - 1);
  if (root.value == 0 && !root.terms.empty()) {
    if (depth == 0)
      return concat("a sum of ", root.terms.size(), " values");
    std::string text;
    for (const auto &[term, coefficient] : root.terms)
      text += (text.empty() ? "" : " + ") + (coefficient == 1 ? "" : formatNumber(coefficient) + " times ") +
              describe(term, depth - 1);
    return text;
  }
  if (root.value == 0 && !root.powers.empty())
    return concat("a sum of powers of ", root.powers.size(), " values");
  return describeValue(root.value);
}

} // namespace sluice::check::proof
