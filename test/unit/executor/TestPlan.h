//===- TestPlan.h - a builder of plans for the executor's tests --------------------===//
//
// Buffers are placed one after another without reuse. The plans are not checked.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_EXECUTOR_TESTPLAN_H
#define SLUICE_TEST_UNIT_EXECUTOR_TESTPLAN_H

#include "runtime/executor/Executor.h"

namespace sluice::test {

inline constexpr auto host = plan::Space::host;
inline constexpr auto f32 = plan::DType::f32;

using Shape = std::vector<std::int64_t>;

class TestPlan {
public:
  explicit TestPlan(std::vector<std::uint32_t> mesh = {1}) {
    plan.major = planMajor;
    plan.minor = planMinor;
    plan.catalogue = catalogueVersion();
    plan.digest.assign(32, 7);
    plan.target = std::make_unique<plan::TargetT>();
    plan.target->device = "cpu";
    plan.target->threads = 1;
    for (std::uint32_t size : mesh) {
      auto axis = std::make_unique<plan::AxisT>();
      axis->name = "axis" + std::to_string(plan.mesh.size());
      axis->size = size;
      plan.mesh.push_back(std::move(axis));
    }
    for (plan::Space space : {plan::Space::device, plan::Space::host}) {
      auto arena = std::make_unique<plan::ArenaT>();
      arena->space = space;
      arena->alignment = 64;
      plan.arenas.push_back(std::move(arena));
    }
  }

  plan::PlanT plan;

  std::uint32_t stream(std::string name, std::uint64_t workspace = 0) {
    auto made = std::make_unique<plan::StreamT>();
    made->name = std::move(name);
    made->workspace = workspace;
    plan.arenas[0]->workspace += workspace;
    plan.streams.push_back(std::move(made));
    return static_cast<std::uint32_t>(plan.streams.size() - 1);
  }

  std::uint32_t buffer(std::string name, Shape shape, plan::DType dtype = plan::DType::f32,
                       plan::Space space = plan::Space::device) {
    auto made = std::make_unique<plan::BufferT>();
    plan::ArenaT &arena = *plan.arenas[static_cast<std::size_t>(space)];
    made->name = std::move(name);
    made->shape = shape;
    made->dtype = dtype;
    made->space = space;
    made->bytes = *elementCount(shape) * dtypeBytes(baseType(dtype));
    made->offset = arena.bytes;
    arena.bytes += (made->bytes + 63) / 64 * 64;
    plan.buffers.push_back(std::move(made));
    return static_cast<std::uint32_t>(plan.buffers.size() - 1);
  }

  /// The full buffer.
  plan::ViewT view(std::uint32_t buffer) const {
    plan::ViewT made;
    made.buffer = buffer;
    made.dtype = plan.buffers[buffer]->dtype;
    made.shape = plan.buffers[buffer]->shape;
    return made;
  }
  /// A window of another shape.
  plan::ViewT view(std::uint32_t buffer, Shape shape, std::uint64_t offset = 0, Shape strides = {}) const {
    plan::ViewT made = view(buffer);
    made.shape = std::move(shape);
    made.offset = offset;
    made.strides = std::move(strides);
    return made;
  }
  static plan::ViewT padded(plan::ViewT view, std::uint32_t dim, std::vector<std::uint32_t> axes, std::int64_t chunk,
                            std::int64_t total) {
    auto valid = std::make_unique<plan::ValidT>();
    valid->dim = dim;
    valid->axes = std::move(axes);
    valid->chunk = chunk;
    valid->total = total;
    view.valid.push_back(std::move(valid));
    return view;
  }

  plan::EntryT &entry(std::string name, std::uint32_t events = 8) {
    auto made = std::make_unique<plan::EntryT>();
    made->name = std::move(name);
    made->events = events;
    plan.entries.push_back(std::move(made));
    return *plan.entries.back();
  }
  /// Following instructions go into a new section of the last entry point.
  void section(std::uint32_t repeat = 1) {
    auto made = std::make_unique<plan::SectionT>();
    made->repeat = repeat;
    plan.entries.back()->sections.push_back(std::move(made));
  }

  plan::PortT &port(std::vector<std::unique_ptr<plan::PortT>> &list, std::string name, plan::ViewT view) {
    auto made = std::make_unique<plan::PortT>();
    made->name = std::move(name);
    made->view = std::make_unique<plan::ViewT>(std::move(view));
    list.push_back(std::move(made));
    return *list.back();
  }

  plan::InstructionT &launch(std::uint32_t stream, const std::string &kernel, std::vector<plan::ViewT> inputs,
                             std::vector<plan::ViewT> outputs) {
    plan::LaunchT made;
    const auto found = std::find(plan.kernels.begin(), plan.kernels.end(), kernel);
    made.kernel = static_cast<std::uint32_t>(found - plan.kernels.begin());
    if (found == plan.kernels.end())
      plan.kernels.push_back(kernel);
    for (plan::ViewT &view : inputs)
      made.inputs.push_back(std::make_unique<plan::ViewT>(std::move(view)));
    for (plan::ViewT &view : outputs)
      made.outputs.push_back(std::make_unique<plan::ViewT>(std::move(view)));
    return add(stream, std::move(made));
  }
  static void attribute(plan::InstructionT &launch, std::string name, double number) {
    auto made = std::make_unique<plan::AttributeT>();
    made->name = std::move(name);
    made->kind = 1;
    made->number = number;
    launch.operation.AsLaunch()->attributes.push_back(std::move(made));
  }
  plan::InstructionT &collective(std::uint32_t stream, plan::CollectiveKind kind, std::vector<std::uint32_t> axes,
                                 plan::ReduceOp op, std::vector<std::pair<plan::ViewT, plan::ViewT>> segments) {
    plan::CollectiveT made;
    made.kind = kind;
    made.axes = std::move(axes);
    made.op = op;
    made.dtype = segments.front().first.dtype;
    for (auto &[source, destination] : segments) {
      auto segment = std::make_unique<plan::SegmentT>();
      segment->source = std::make_unique<plan::ViewT>(std::move(source));
      segment->destination = std::make_unique<plan::ViewT>(std::move(destination));
      made.segments.push_back(std::move(segment));
    }
    return add(stream, std::move(made));
  }
  plan::InstructionT &copy(std::uint32_t stream, plan::ViewT source, plan::ViewT destination) {
    plan::CopyT made;
    made.source = std::make_unique<plan::ViewT>(std::move(source));
    made.destination = std::make_unique<plan::ViewT>(std::move(destination));
    return add(stream, std::move(made));
  }
  plan::InstructionT &fill(std::uint32_t stream, plan::ViewT destination, double value) {
    plan::FillT made;
    made.destination = std::make_unique<plan::ViewT>(std::move(destination));
    made.value = value;
    return add(stream, std::move(made));
  }
  plan::InstructionT &record(std::uint32_t stream, std::uint32_t event) {
    plan::RecordT made;
    made.event = event;
    return add(stream, std::move(made));
  }
  plan::InstructionT &wait(std::uint32_t stream, std::uint32_t event) {
    plan::WaitT made;
    made.event = event;
    return add(stream, std::move(made));
  }

  /// A parameter whose dim 0 is cut along `axes`; its shard is `buffer`.
  plan::ParameterT &parameter(std::string name, Shape shape, std::vector<std::uint32_t> axes, std::uint32_t buffer) {
    auto made = std::make_unique<plan::ParameterT>();
    made->name = std::move(name);
    made->dtype = plan.buffers[buffer]->dtype;
    made->shape = std::move(shape);
    made->dim = axes.empty() ? -1 : 0;
    made->axes = std::move(axes);
    made->chunk = plan.buffers[buffer]->shape.empty() ? 0 : plan.buffers[buffer]->shape[0];
    made->buffer = buffer;
    plan.parameters.push_back(std::move(made));
    return *plan.parameters.back();
  }
  std::int32_t unit(std::string name) {
    auto made = std::make_unique<plan::UnitT>();
    made->name = std::move(name);
    plan.units.push_back(std::move(made));
    return static_cast<std::int32_t>(plan.units.size() - 1);
  }

private:
  template <typename Operation> plan::InstructionT &add(std::uint32_t stream, Operation &&operation) {
    auto made = std::make_unique<plan::InstructionT>();
    made->stream = stream;
    made->operation.Set(std::forward<Operation>(operation));
    auto &instructions = plan.entries.back()->sections.back()->instructions;
    instructions.push_back(std::move(made));
    return *instructions.back();
  }
};

/// An executor in a world of one rank.
inline Result<std::unique_ptr<Executor>> runAlone(const plan::PlanT &plan, const ExecutorOptions &options = {}) {
  return Executor::create(plan, createLocalWorld(1), 0, options);
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_EXECUTOR_TESTPLAN_H
