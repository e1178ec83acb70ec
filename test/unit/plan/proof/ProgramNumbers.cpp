//===- ProgramNumbers.cpp - the numbers of a program on all ranks --------------------------===//
//
// See ProgramNumbers.h.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/proof/ProgramNumbers.h"

#include "runtime/plan/check/proof/Numbering.h"

#include <functional>

namespace sluice::test {

using Shape = std::vector<std::int64_t>;

std::int64_t countOf(const Shape &shape) { return std::int64_t(*elementCount(shape)); }

static double function(double x) { return x * x / 4 + 1; }

std::vector<Shape> coordinatesOf(const Shape &shape) {
  std::vector<Shape> all{{}};
  for (std::int64_t extent : shape) {
    std::vector<Shape> next;
    for (const Shape &outer : all)
      for (std::int64_t k = 0; k < extent; ++k) {
        next.push_back(outer);
        next.back().push_back(k);
      }
    all = std::move(next);
  }
  return all;
}

double numberAt(const Tensor &tensor, const Shape &at) {
  std::int64_t index = 0;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    if (at.size() != tensor.shape.size() || at[d] >= tensor.shape[d])
      throw NotKnown("an element outside of its tensor");
    index = index * tensor.shape[d] + at[d];
  }
  return tensor.numbers[std::size_t(index)];
}

Tensor broadcasted(const Tensor &from, const Shape &shape) {
  Tensor result{shape, {}};
  const std::size_t missing = shape.size() - from.shape.size();
  if (from.shape.size() > shape.size())
    throw NotKnown("a broadcast to fewer dims");
  for (const Shape &at : coordinatesOf(shape)) {
    Shape own;
    for (std::size_t d = 0; d < from.shape.size(); ++d) {
      if (from.shape[d] != 1 && from.shape[d] != shape[missing + d])
        throw NotKnown("a broadcast to another extent");
      own.push_back(from.shape[d] == 1 ? 0 : at[missing + d]);
    }
    result.numbers.push_back(numberAt(from, own));
  }
  return result;
}

static Tensor map(Tensor tensor, auto of) {
  for (double &number : tensor.numbers)
    number = of(number);
  return tensor;
}

static Tensor combine(const Tensor &a, const Tensor &b, const Shape &shape, auto of) {
  Tensor left = broadcasted(a, shape);
  const Tensor right = broadcasted(b, shape);
  for (std::size_t k = 0; k < left.numbers.size(); ++k)
    left.numbers[k] = of(left.numbers[k], right.numbers[k]);
  return left;
}

std::optional<Tensor> pointwise(std::string_view name, const std::vector<Tensor> &operands, const Shape &shape,
                                double factor) {
  if (name == "relu")
    return map(broadcasted(operands[0], shape), function);
  if (name == "copy" || name == "cast" || name == "broadcast")
    return broadcasted(operands[0], shape);
  if (name == "scale")
    return map(broadcasted(operands[0], shape), [&](double x) { return x * factor; });
  if (name == "add")
    return combine(operands[0], operands[1], shape, [](double a, double b) { return a + b; });
  if (name == "subtract")
    return combine(operands[0], operands[1], shape, [](double a, double b) { return a - b; });
  return std::nullopt;
}

double given(const std::string &name, std::int64_t index, std::uint32_t rank, std::uint32_t repetition) {
  const double seed = double(std::hash<std::string>()(name) % 97);
  return 0.01 * seed + 0.37 * double(index + 1) + 0.011 * double((index * index) % 13) + 5.3 * rank + 1.9 * repetition;
}

Tensor sumOf(const Tensor &a, const Tensor &b, const Shape &shape) {
  return combine(a, b, shape, [](double x, double y) { return x + y; });
}

ProgramNumbers::ProgramNumbers(const plan::PlanT &plan)
    : plan(plan), program(*plan.program), ranks(std::uint32_t(meshSize(plan))),
      repeat(plan.entries[0]->sections.front()->repeat) {
  values.assign(program.values.size() + 1, std::vector<std::vector<Tensor>>(ranks, std::vector<Tensor>(repeat)));
  for (std::size_t k = 0; k < program.inputs.size(); ++k) {
    const std::uint32_t id = program.inputs[k];
    const std::string &name = program.names[program.input_names[k]];
    forEach(id, [&](Tensor &own, std::uint32_t rank, std::uint32_t r) {
      for (std::int64_t i = 0; i < countOf(own.shape); ++i)
        own.numbers.push_back(given(name, i, dataRank(rank), r));
    });
  }
  std::uint32_t operand = 0, result = 0;
  for (std::uint32_t op = 0; op < program.op_kinds.size(); ++op) {
    std::vector<std::uint32_t> operands, results;
    for (; operand < program.operand_ends[op]; ++operand)
      operands.push_back(program.operands[operand]);
    for (; result < program.result_ends[op]; ++result)
      results.push_back(program.results[result]);
    runOp(op, operands, results);
  }
}

Tensor ProgramNumbers::parameterOf(const plan::ParameterT &parameter) {
  Tensor result{parameter.shape, {}};
  for (std::int64_t k = 0; k < countOf(parameter.shape); ++k)
    result.numbers.push_back(given(parameter.name, k, 0, 0));
  return result;
}

Tensor ProgramNumbers::written(const plan::ParameterT &parameter, std::uint32_t rank) const {
  const auto found = writes.find(parameter.name);
  return found == writes.end() ? parameterOf(parameter) : values[found->second][rank][0];
}

const plan::AttributeT *ProgramNumbers::attributeOf(std::uint32_t op, std::string_view name) const {
  return check::proof::attributeOf(*program.kinds[program.op_kinds[op]], name);
}

template <typename Visit> void ProgramNumbers::forEach(std::uint32_t id, const Visit &visit) {
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    for (std::uint32_t r = 0; r < repeat; ++r) {
      values[id][rank][r].shape = program.types[program.values[id - 1]]->shape;
      visit(values[id][rank][r], rank, r);
    }
}

Tensor ProgramNumbers::overRanks(std::uint32_t op, std::uint32_t operand, std::uint32_t repetition) const {
  const plan::ProgramKindT &kind = *program.kinds[program.op_kinds[op]];
  const bool isOfStep = kind.op != "model.all_reduce";
  const double all = double(groupSize(plan, plan.data_axes));
  double divisor = 1;
  if (kind.op == "model.step_mean")
    divisor = all * repeat;
  else if (kind.op == "model.gradient" || check::proof::textOf(kind, "reduction") == "mean")
    divisor = all;
  Tensor result = values[operand][0][0];
  result.numbers.assign(result.numbers.size(), 0);
  // Each rank with other rows is as often among the ranks.
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    for (std::uint32_t r = 0; r < repeat; ++r)
      for (std::size_t i = 0; i < result.numbers.size() && (isOfStep || r == repetition); ++i)
        result.numbers[i] += values[operand][rank][r].numbers[i] * all / ranks / divisor;
  return result;
}

void ProgramNumbers::runOp(std::uint32_t op, const std::vector<std::uint32_t> &operands,
                           const std::vector<std::uint32_t> &results) {
  const plan::ProgramKindT &kind = *program.kinds[program.op_kinds[op]];
  const std::string name = kind.op.substr(6), &symbol = program.names[program.op_symbols[op]];
  if (name == "write") {
    writes[symbol] = operands[0];
    return;
  }
  forEach(results[0], [&](Tensor &own, std::uint32_t rank, std::uint32_t r) {
    const auto of = [&](std::size_t k) -> const Tensor & { return values[operands[k]][rank][r]; };
    if (name == "read") {
      for (const auto &parameter : plan.parameters)
        if (parameter->name == symbol)
          own = parameterOf(*parameter);
    } else if (name == "reshape") {
      own.numbers = of(0).numbers;
    } else if (name == "transpose") {
      const std::span<const std::int64_t> permutation = check::proof::listOf(kind, "permutation");
      for (const Shape &at : coordinatesOf(own.shape)) {
        Shape source(at.size());
        for (std::size_t d = 0; d < at.size(); ++d)
          source[std::size_t(permutation[d])] = at[d];
        own.numbers.push_back(numberAt(of(0), source));
      }
    } else if (name == "slice") {
      const std::span<const std::int64_t> start = check::proof::listOf(kind, "start");
      for (Shape at : coordinatesOf(own.shape)) {
        for (std::size_t d = 0; d < at.size(); ++d)
          at[d] += start[d];
        own.numbers.push_back(numberAt(of(0), at));
      }
    } else if (name == "concat") {
      const std::size_t dim = std::size_t(attributeOf(op, "dim")->integer);
      for (Shape at : coordinatesOf(own.shape)) {
        std::size_t k = 0;
        for (; at[dim] >= of(k).shape[dim]; ++k)
          at[dim] -= of(k).shape[dim];
        own.numbers.push_back(numberAt(of(k), at));
      }
    } else if (name == "all_reduce" || name == "step_mean" || name == "gradient") {
      own.numbers = overRanks(op, operands[0], r).numbers;
    } else {
      std::vector<Tensor> inputs;
      for (std::size_t k = 0; k < operands.size(); ++k)
        inputs.push_back(of(k));
      std::optional<Tensor> computed =
          pointwise(name, inputs, own.shape, attributeOf(op, "factor") ? attributeOf(op, "factor")->number : 1);
      if (!computed)
        throw NotKnown("op " + kind.op);
      own = std::move(*computed);
    }
  });
}

} // namespace sluice::test
