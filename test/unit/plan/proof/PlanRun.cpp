//===- PlanRun.cpp - the numbers of a small plan on all ranks ------------------------------===//
//
// See PlanRun.h.
//
//===----------------------------------------------------------------------===//
#include "test/unit/plan/proof/PlanRun.h"

#include "runtime/base/ShardMath.h"
#include "runtime/plan/LaunchAttributes.h"
#include "test/unit/plan/proof/ProgramNumbers.h"

#include <cmath>

namespace sluice::test {
namespace {

using Shape = std::vector<std::int64_t>;

class Run {
public:
  explicit Run(const plan::PlanT &plan)
      : plan(plan), program(plan), entry(*plan.entries[0]), ranks(std::uint32_t(meshSize(plan))),
        repeat(entry.sections.front()->repeat) {}

  bool isRight() {
    runPlan();
    const auto &function = *plan.program->functions[0];
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      for (std::size_t k = 0; k < function.outputs_end; ++k) {
        const Tensor found = load(*entry.outputs[k]->view, rank, 0),
                     expected = program.value(plan.program->outputs[k], rank, repeat - 1);
        if (!areClose(found.numbers, expected.numbers))
          return false;
      }
      for (const auto &parameter : plan.parameters)
        if (!holdsShard(*parameter, program.written(*parameter, rank), rank))
          return false;
    }
    return true;
  }

private:
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
        storeShard(*parameter, ProgramNumbers::parameterOf(*parameter), rank);
      for (const auto &port : entry.inputs)
        for (std::uint32_t r = 0; r < (port->per_repetition ? repeat : 1); ++r) {
          Numbers numbers;
          for (std::int64_t i = 0; i < countOf(port->view->shape); ++i)
            numbers.push_back(given(port->name, i, program.dataRank(rank), r));
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
            isFirst ? broadcasted(inputs[0], output.shape).numbers : sumOf(inputs[0], before, output.shape).numbers,
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
      } else if (own.kind == plan::CollectiveKind::all_to_all) {
        for (int member : members) {
          const Numbers &from = sources[std::size_t(member)];
          if (from.size() % members.size() != 0)
            throw NotKnown("a collective of another count");
          const std::size_t chunk = from.size() / members.size(), first = chunk * coordinateAlong(plan, rank, own.axes);
          result.insert(result.end(), from.begin() + std::ptrdiff_t(first),
                        from.begin() + std::ptrdiff_t(first + chunk));
        }
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
  const ProgramNumbers program;
  const plan::EntryT &entry;
  std::uint32_t ranks, repeat;
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
