//===- PlanRun.cpp - the numbers of a small plan, and of its program, on all ranks ---------===//
//
// See PlanRun.h.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/proof/PlanRun.h"

#include "runtime/base/ShardMath.h"
#include "runtime/plan/LaunchAttributes.h"
#include "runtime/plan/check/proof/Numbering.h"

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>

namespace sluice::test {
namespace {

using Numbers = std::vector<double>;
using Shape = std::vector<std::int64_t>;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

struct Tensor {
  Shape shape;
  Numbers numbers;
};

/// What the functions do not know ends the run.
struct NotKnown : std::runtime_error {
  using runtime_error::runtime_error;
};

std::int64_t countOf(const Shape &shape) { return std::int64_t(*elementCount(shape)); }

double function(double x) { return x * x / 4 + 1; }

/// The coordinates of all elements in row-major order.
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

/// Trailing dims align, and a dim of extent 1 repeats.
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

Tensor map(Tensor tensor, auto of) {
  for (double &number : tensor.numbers)
    number = of(number);
  return tensor;
}

Tensor combine(const Tensor &a, const Tensor &b, const Shape &shape, auto of) {
  Tensor left = broadcasted(a, shape);
  const Tensor right = broadcasted(b, shape);
  for (std::size_t k = 0; k < left.numbers.size(); ++k)
    left.numbers[k] = of(left.numbers[k], right.numbers[k]);
  return left;
}

/// An op, or a kernel of the same name, of numbers alone; nullopt if it is none.
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

/// Different numbers for each tensor, rank with other rows, and repetition.
double given(const std::string &name, std::int64_t index, std::uint32_t rank, std::uint32_t repetition) {
  const double seed = double(std::hash<std::string>()(name) % 97);
  return 0.01 * seed + 0.37 * double(index + 1) + 0.011 * double((index * index) % 13) + 5.3 * rank + 1.9 * repetition;
}

class Run {
public:
  explicit Run(const plan::PlanT &plan)
      : plan(plan), program(*plan.program), entry(*plan.entries[0]), sizes(meshSizes(plan)),
        ranks(std::uint32_t(meshSize(plan))), repeat(entry.sections.front()->repeat) {}

  bool isRight() {
    runProgram();
    runPlan();
    const auto &function = *program.functions[0];
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      for (std::size_t k = 0; k < function.outputs_end; ++k) {
        const Tensor found = load(*entry.outputs[k]->view, rank, 0),
                     expected = values[program.outputs[k]][rank][repeat - 1];
        if (!areClose(found.numbers, expected.numbers))
          return false;
      }
      for (const auto &parameter : plan.parameters) {
        const auto written = writes.find(parameter->name);
        const Tensor global = written == writes.end() ? parameterOf(*parameter) : values[written->second][rank][0];
        if (!holdsShard(*parameter, global, rank))
          return false;
      }
    }
    return true;
  }

private:
  using OfRanks = std::vector<std::vector<Tensor>>;

  std::uint32_t dataRank(std::uint32_t rank) const { return coordinateAlong(plan, rank, plan.data_axes); }

  Tensor parameterOf(const plan::ParameterT &parameter) const {
    Tensor result{parameter.shape, {}};
    for (std::int64_t k = 0; k < countOf(parameter.shape); ++k)
      result.numbers.push_back(given(parameter.name, k, 0, 0));
    return result;
  }

  // The program.
  const plan::AttributeT *attributeOf(std::uint32_t op, std::string_view name) const {
    return check::proof::attributeOf(*program.kinds[program.op_kinds[op]], name);
  }
  double numberIn(std::uint32_t op, std::string_view name) const {
    const plan::AttributeT *attribute = attributeOf(op, name);
    return attribute ? attribute->number : 1;
  }
  void runProgram() {
    values.assign(program.values.size() + 1, OfRanks(ranks, std::vector<Tensor>(repeat)));
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
  void forEach(std::uint32_t id, auto visit) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      for (std::uint32_t r = 0; r < repeat; ++r) {
        values[id][rank][r].shape = program.types[program.values[id - 1]]->shape;
        visit(values[id][rank][r], rank, r);
      }
  }
  void runOp(std::uint32_t op, const std::vector<std::uint32_t> &operands, const std::vector<std::uint32_t> &results) {
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
      } else if (name == "concat") {
        const std::size_t dim = std::size_t(attributeOf(op, "dim")->integer);
        for (Shape at : coordinatesOf(own.shape)) {
          std::size_t k = 0;
          for (; at[dim] >= of(k).shape[dim]; ++k)
            at[dim] -= of(k).shape[dim];
          own.numbers.push_back(numberAt(of(k), at));
        }
      } else if (name == "all_reduce" || name == "step_mean" || name == "gradient") {
        const bool isOfStep = name != "all_reduce";
        const double all = double(groupSize(plan, plan.data_axes));
        own.numbers.assign(std::size_t(countOf(own.shape)), 0);
        // Each rank with other rows is as often among the ranks.
        for (std::uint32_t other = 0; other < ranks; ++other)
          for (std::uint32_t micro = 0; micro < repeat; ++micro)
            for (std::size_t i = 0; i < own.numbers.size() && (isOfStep || micro == r); ++i)
              own.numbers[i] += values[operands[0]][other][micro].numbers[i] * all / ranks;
        const bool isMean = name == "step_mean" || check::proof::textOf(kind, "reduction") == "mean";
        const double divisor = name == "gradient" || isMean ? all * (name == "step_mean" ? repeat : 1) : 1;
        own = map(own, [&](double x) { return x / divisor; });
      } else {
        std::vector<Tensor> inputs;
        for (std::size_t k = 0; k < operands.size(); ++k)
          inputs.push_back(of(k));
        std::optional<Tensor> computed = pointwise(name, inputs, own.shape, numberIn(op, "factor"));
        if (!computed)
          throw NotKnown("op " + kind.op);
        own = std::move(*computed);
      }
    });
  }

  // The plan.
  struct Cell {
    double number = unknown;
    plan::DType dtype = plan::DType::f32;
    /// The byte of the number.
    std::uint64_t byte = 99;
  };
  /// For each element of the view in row-major order its first byte, and whether the valid extents have it.
  std::vector<std::pair<std::uint64_t, bool>> placesOf(const plan::ViewT &view, std::uint32_t rank, std::uint32_t r) {
    const std::uint64_t size = dtypeBytes(baseType(view.dtype));
    Shape strides = view.strides;
    if (strides.empty()) {
      strides.resize(view.shape.size());
      std::int64_t stride = 1;
      for (std::size_t d = view.shape.size(); d-- > 0; stride *= view.shape[d])
        strides[d] = stride;
    }
    std::vector<std::pair<std::uint64_t, bool>> places;
    for (const Shape &at : coordinatesOf(view.shape)) {
      std::int64_t index = 0;
      for (std::size_t d = 0; d < at.size(); ++d)
        index += at[d] * strides[d];
      bool isValid = true;
      for (const auto &valid : view.valid)
        isValid = isValid &&
                  at[valid->dim] < validExtent(valid->total, valid->chunk, coordinateAlong(plan, rank, valid->axes));
      places.push_back({view.offset + view.repetition_stride * r + std::uint64_t(index) * size, isValid});
      if (index < 0 || places.back().first + size > plan.buffers[view.buffer]->bytes)
        throw NotKnown("a view outside of its buffer");
    }
    return places;
  }
  Tensor load(const plan::ViewT &view, std::uint32_t rank, std::uint32_t r) {
    Tensor result{view.shape, {}};
    const std::vector<Cell> &bytes = memory[rank][view.buffer];
    for (const auto &[place, isValid] : placesOf(view, rank, r)) {
      bool isNumber = isValid;
      for (std::uint64_t k = 0; k < dtypeBytes(baseType(view.dtype)); ++k)
        isNumber = isNumber && bytes[place + k].dtype == view.dtype && bytes[place + k].byte == k;
      result.numbers.push_back(isNumber ? bytes[place].number : unknown);
    }
    return result;
  }
  void store(const plan::ViewT &view, const Numbers &numbers, std::uint32_t rank, std::uint32_t r) {
    const auto places = placesOf(view, rank, r);
    if (numbers.size() != places.size())
      throw NotKnown("a result of another shape");
    for (std::size_t i = 0; i < places.size(); ++i)
      for (std::uint64_t k = 0; k < dtypeBytes(baseType(view.dtype)) && places[i].second; ++k)
        memory[rank][view.buffer][places[i].first + k] = {numbers[i], view.dtype, k};
  }
  void runPlan() {
    memory.assign(ranks, {});
    for (auto &own : memory)
      for (const auto &buffer : plan.buffers)
        own.emplace_back(buffer->bytes);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      for (const auto &parameter : plan.parameters)
        storeShard(*parameter, parameterOf(*parameter), rank);
      for (const auto &port : entry.inputs)
        for (std::uint32_t r = 0; r < (port->per_repetition ? repeat : 1); ++r) {
          Numbers numbers;
          for (std::int64_t i = 0; i < countOf(port->view->shape); ++i)
            numbers.push_back(given(port->name, i, dataRank(rank), r));
          store(*port->view, numbers, rank, r);
        }
    }
    for (const auto &section : entry.sections)
      for (std::uint32_t r = 0; r < section->repeat; ++r)
        for (const auto &instruction : section->instructions)
          if (isIssued(*instruction, r, section->repeat))
            run(*instruction, r);
  }
  void run(const plan::InstructionT &instruction, std::uint32_t r) {
    if (const plan::CollectiveT *own = instruction.operation.AsCollective()) {
      for (const auto &segment : own->segments)
        communicate(*own, *segment->source, *segment->destination, r);
      return;
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      if (const plan::LaunchT *launch = instruction.operation.AsLaunch())
        compute(*launch, rank, r);
      else if (const plan::CopyT *copy = instruction.operation.AsCopy())
        store(*copy->destination, load(*copy->source, rank, r).numbers, rank, r);
      else if (const plan::FillT *fill = instruction.operation.AsFill())
        store(*fill->destination, Numbers(std::size_t(countOf(fill->destination->shape)), fill->value), rank, r);
      else
        throw NotKnown("an instruction");
  }
  void compute(const plan::LaunchT &launch, std::uint32_t rank, std::uint32_t r) {
    const std::string &kernel = plan.kernels[launch.kernel];
    const plan::ViewT &output = *launch.outputs[0];
    const Attributes attributes = attributesOf(launch);
    std::vector<Tensor> inputs;
    for (const auto &view : launch.inputs)
      inputs.push_back(load(*view, rank, r));
    if (kernel == "constant") {
      store(output, Numbers(std::size_t(countOf(output.shape)), attributes.number("value", 0)), rank, r);
    } else if (kernel == "accumulate") {
      const Tensor before = load(output, rank, r);
      const bool isFirst = attributes.integer("first", 0) != 0;
      store(output,
            isFirst ? broadcasted(inputs[0], output.shape).numbers
                    : combine(inputs[0], before, output.shape, [](double a, double b) { return a + b; }).numbers,
            rank, r);
    } else if (kernel == "pad") {
      // What the valid extent of the source leaves out.
      const auto places = placesOf(*launch.inputs[0], rank, r);
      for (std::size_t i = 0; i < places.size(); ++i)
        if (!places[i].second)
          inputs[0].numbers[i] = attributes.number("value", 0);
      store(output, inputs[0].numbers, rank, r);
    } else if (kernel == "slice") {
      const std::size_t dim = std::size_t(attributes.integer("dim", 0));
      if (output.valid.size() != 1 || output.valid[0]->dim != dim)
        throw NotKnown("a slice without its chunk");
      const std::int64_t first =
          std::int64_t(coordinateAlong(plan, rank, output.valid[0]->axes)) * output.valid[0]->chunk;
      Numbers numbers;
      for (Shape at : coordinatesOf(output.shape)) {
        at[dim] += first;
        numbers.push_back(at[dim] < inputs[0].shape[dim] ? numberAt(inputs[0], at) : unknown);
      }
      store(output, numbers, rank, r);
    } else {
      const std::optional<Tensor> computed = pointwise(kernel, inputs, output.shape, attributes.number("factor", 1));
      if (!computed)
        throw NotKnown("kernel " + kernel);
      store(output, computed->numbers, rank, r);
    }
  }
  void communicate(const plan::CollectiveT &own, const plan::ViewT &source, const plan::ViewT &destination,
                   std::uint32_t r) {
    std::vector<Numbers> sources, results;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      sources.push_back(load(source, rank, r).numbers);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const std::vector<int> members = groupMembers(plan, rank, own.axes);
      Numbers result;
      if (own.kind == plan::CollectiveKind::all_gather) {
        for (int member : members)
          result.insert(result.end(), sources[std::size_t(member)].begin(), sources[std::size_t(member)].end());
      } else {
        result = sources[std::size_t(members[0])];
        for (std::size_t m = 1; m < members.size(); ++m)
          for (std::size_t i = 0; i < result.size(); ++i) {
            const double next = sources[std::size_t(members[m])][i];
            result[i] = own.op != plan::ReduceOp::max               ? result[i] + next
                        : std::isnan(result[i]) || std::isnan(next) ? unknown
                                                                    : std::max(result[i], next);
          }
        const double factor = own.op == plan::ReduceOp::mean         ? 1.0 / double(members.size())
                              : own.op == plan::ReduceOp::premul_sum ? own.scale
                                                                     : 1;
        for (double &number : result)
          number *= factor;
        if (own.kind == plan::CollectiveKind::reduce_scatter) {
          if (result.size() % members.size() != 0)
            throw NotKnown("a collective of another count");
          const std::size_t chunk = result.size() / members.size(),
                            first = chunk * coordinateAlong(plan, rank, own.axes);
          result = Numbers(result.begin() + std::ptrdiff_t(first), result.begin() + std::ptrdiff_t(first + chunk));
        } else if (own.kind != plan::CollectiveKind::all_reduce) {
          throw NotKnown("a collective");
        }
      }
      results.push_back(std::move(result));
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      store(destination, results[rank], rank, r);
  }

  // Shards of parameters without parts.
  /// The number of each element of the shard; unknown for padding.
  Numbers shardOf(const plan::ParameterT &parameter, const Tensor &global, std::uint32_t rank) {
    if (parameter.split || isFlat(parameter))
      throw NotKnown("a part of a parameter");
    if (parameter.dim < 0)
      return global.numbers;
    const std::size_t dim = std::size_t(parameter.dim);
    Shape shape = parameter.shape;
    shape[dim] = parameter.chunk;
    Numbers numbers;
    for (Shape at : coordinatesOf(shape)) {
      at[dim] += parameter.chunk * coordinateAlong(plan, rank, parameter.axes);
      numbers.push_back(at[dim] < parameter.shape[dim] ? numberAt(global, at) : unknown);
    }
    return numbers;
  }
  plan::ViewT viewOf(const plan::ParameterT &parameter) const {
    plan::ViewT view;
    view.buffer = parameter.buffer;
    view.dtype = parameter.dtype;
    view.shape = plan.buffers[parameter.buffer]->shape;
    return view;
  }
  void storeShard(const plan::ParameterT &parameter, const Tensor &global, std::uint32_t rank) {
    store(viewOf(parameter), shardOf(parameter, global, rank), rank, 0);
  }
  bool holdsShard(const plan::ParameterT &parameter, const Tensor &global, std::uint32_t rank) {
    Numbers expected = shardOf(parameter, global, rank), found = load(viewOf(parameter), rank, 0).numbers;
    for (std::size_t k = 0; k < expected.size(); ++k)
      if (std::isnan(expected[k]))
        found[k] = expected[k] = 0;
    return areClose(found, expected);
  }
  static bool areClose(const Numbers &a, const Numbers &b) {
    for (std::size_t k = 0; k < a.size() && a.size() == b.size(); ++k)
      if (!(std::abs(a[k] - b[k]) <= 1e-9 * std::max(std::abs(a[k]), std::abs(b[k]))))
        return false;
    return a.size() == b.size();
  }

  const plan::PlanT &plan;
  const plan::ProgramT &program;
  const plan::EntryT &entry;
  std::vector<std::uint32_t> sizes;
  std::uint32_t ranks, repeat;
  /// By value of the program, rank and repetition.
  std::vector<OfRanks> values;
  std::map<std::string, std::uint32_t> writes;
  /// By rank and buffer.
  std::vector<std::vector<std::vector<Cell>>> memory;
};

} // namespace

std::optional<bool> computesRightNumbers(const plan::PlanT &plan) {
  try {
    return Run(plan).isRight();
  } catch (const NotKnown &) {
    return std::nullopt;
  }
}

} // namespace sluice::test
