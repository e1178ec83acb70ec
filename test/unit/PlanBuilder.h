//===- PlanBuilder.h - builds plans for unit tests ---------------------------------===//
//
// Buffers are placed one after another without reuse. The plans are not checked.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_PLANBUILDER_H
#define SLUICE_TEST_UNIT_PLANBUILDER_H

#include "runtime/base/ShardMath.h"
#include "runtime/kernel/catalogue/Catalogue.h"
#include "runtime/plan/Roles.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::test {

inline constexpr auto host = plan::Space::host;
inline constexpr auto f32 = plan::DType::f32;

using Shape = std::vector<std::int64_t>;

class PlanBuilder {
public:
  plan::PlanT plan;

  /// Axes, streams and ports have the roles that their names imply. An axis with another name has the role `tensor`.
  PlanBuilder(std::initializer_list<std::pair<const char *, std::uint32_t>> mesh)
      : PlanBuilder(std::vector<std::uint32_t>()) {
    for (auto [name, size] : mesh) {
      addAxis(name, size);
      if (dividesRows(plan.mesh.back()->role))
        plan.data_axes.push_back(static_cast<std::uint32_t>(plan.mesh.size() - 1));
    }
  }
  /// With axes `axis0`, `axis1`, ... of these sizes.
  explicit PlanBuilder(const std::vector<std::uint32_t> &sizes = {1}) {
    plan.major = planMajor;
    plan.minor = planMinor;
    plan.catalogue = catalogueVersion();
    plan.digest.assign(32, 7);
    plan.target = std::make_unique<plan::TargetT>();
    plan.target->device = "cpu";
    plan.target->threads = 1;
    for (std::uint32_t size : sizes)
      addAxis("axis" + std::to_string(plan.mesh.size()), size);
    for (plan::Space space : {plan::Space::device, plan::Space::host}) {
      auto arena = std::make_unique<plan::ArenaT>();
      arena->space = space;
      arena->alignment = 64;
      plan.arenas.push_back(std::move(arena));
    }
  }

  std::uint32_t stream(std::string name, std::uint64_t workspace = 0) {
    auto added = std::make_unique<plan::StreamT>();
    added->name = std::move(name);
    added->kind = impliedStreamKind(added->name).value_or(plan::StreamKind::compute);
    added->workspace = workspace;
    plan.arenas[0]->workspace += workspace;
    plan.streams.push_back(std::move(added));
    return static_cast<std::uint32_t>(plan.streams.size() - 1);
  }

  std::uint32_t buffer(std::string name, Shape shape, plan::DType dtype = plan::DType::f32,
                       plan::Space space = plan::Space::device) {
    auto added = std::make_unique<plan::BufferT>();
    plan::ArenaT &arena = *plan.arenas[static_cast<std::size_t>(space)];
    added->name = std::move(name);
    added->shape = shape;
    added->dtype = dtype;
    added->space = space;
    added->bytes = *elementCount(shape) * dtypeBytes(baseType(dtype));
    added->offset = arena.bytes;
    arena.bytes += (added->bytes + 63) / 64 * 64;
    plan.buffers.push_back(std::move(added));
    return static_cast<std::uint32_t>(plan.buffers.size() - 1);
  }

  /// The full buffer.
  plan::ViewT view(std::uint32_t buffer) const {
    plan::ViewT added;
    added.buffer = buffer;
    added.dtype = plan.buffers[buffer]->dtype;
    added.shape = plan.buffers[buffer]->shape;
    return added;
  }
  /// A window of a different shape.
  plan::ViewT view(std::uint32_t buffer, Shape shape, std::uint64_t offset = 0, Shape strides = {}) const {
    plan::ViewT added = view(buffer);
    added.shape = std::move(shape);
    added.offset = offset;
    added.strides = std::move(strides);
    return added;
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
    auto added = std::make_unique<plan::EntryT>();
    added->name = std::move(name);
    added->events = events;
    plan.entries.push_back(std::move(added));
    return *plan.entries.back();
  }
  /// Following instructions go into a new section of the last entry point.
  void section(std::uint32_t repeat = 1) {
    auto added = std::make_unique<plan::SectionT>();
    added->repeat = repeat;
    plan.entries.back()->sections.push_back(std::move(added));
  }

  plan::PortT &port(std::vector<std::unique_ptr<plan::PortT>> &list, std::string name, plan::ViewT view) {
    auto added = std::make_unique<plan::PortT>();
    added->name = std::move(name);
    added->role = impliedPortRole(added->name);
    added->view = std::make_unique<plan::ViewT>(std::move(view));
    list.push_back(std::move(added));
    return *list.back();
  }

  plan::InstructionT &launch(std::uint32_t stream, const std::string &kernel, std::vector<plan::ViewT> inputs,
                             std::vector<plan::ViewT> outputs) {
    plan::LaunchT added;
    const auto found = std::find(plan.kernels.begin(), plan.kernels.end(), kernel);
    added.kernel = static_cast<std::uint32_t>(found - plan.kernels.begin());
    if (found == plan.kernels.end())
      plan.kernels.push_back(kernel);
    for (plan::ViewT &view : inputs)
      added.inputs.push_back(std::make_unique<plan::ViewT>(std::move(view)));
    for (plan::ViewT &view : outputs)
      added.outputs.push_back(std::make_unique<plan::ViewT>(std::move(view)));
    return add(stream, std::move(added));
  }
  static void attribute(plan::InstructionT &launch, std::string name, double number) {
    auto added = std::make_unique<plan::AttributeT>();
    added->name = std::move(name);
    added->kind = 1;
    added->number = number;
    launch.operation.AsLaunch()->attributes.push_back(std::move(added));
  }
  plan::InstructionT &collective(std::uint32_t stream, plan::CollectiveKind kind, std::vector<std::uint32_t> axes,
                                 plan::ReduceOp op, std::vector<std::pair<plan::ViewT, plan::ViewT>> segments) {
    plan::CollectiveT added;
    added.kind = kind;
    added.axes = std::move(axes);
    added.op = op;
    added.dtype = segments.front().first.dtype;
    for (auto &[source, destination] : segments) {
      auto segment = std::make_unique<plan::SegmentT>();
      segment->source = std::make_unique<plan::ViewT>(std::move(source));
      segment->destination = std::make_unique<plan::ViewT>(std::move(destination));
      added.segments.push_back(std::move(segment));
    }
    return add(stream, std::move(added));
  }
  plan::InstructionT &copy(std::uint32_t stream, plan::ViewT source, plan::ViewT destination) {
    plan::CopyT added;
    added.source = std::make_unique<plan::ViewT>(std::move(source));
    added.destination = std::make_unique<plan::ViewT>(std::move(destination));
    return add(stream, std::move(added));
  }
  plan::InstructionT &fill(std::uint32_t stream, plan::ViewT destination, double value) {
    plan::FillT added;
    added.destination = std::make_unique<plan::ViewT>(std::move(destination));
    added.value = value;
    return add(stream, std::move(added));
  }
  plan::InstructionT &record(std::uint32_t stream, std::uint32_t event) {
    plan::RecordT added;
    added.event = event;
    return add(stream, std::move(added));
  }
  plan::InstructionT &release(std::uint32_t stream, std::vector<std::uint32_t> buffers) {
    plan::ReleaseT added;
    added.buffers = std::move(buffers);
    return add(stream, std::move(added));
  }
  plan::InstructionT &wait(std::uint32_t stream, std::uint32_t event) {
    plan::WaitT added;
    added.event = event;
    return add(stream, std::move(added));
  }

  /// A parameter whose dim 0 is sharded along `axes`, with the shard in `buffer`.
  plan::ParameterT &parameter(std::string name, Shape shape, std::vector<std::uint32_t> axes, std::uint32_t buffer) {
    auto added = std::make_unique<plan::ParameterT>();
    added->name = std::move(name);
    added->dtype = plan.buffers[buffer]->dtype;
    added->shape = std::move(shape);
    added->dim = axes.empty() ? -1 : 0;
    added->axes = std::move(axes);
    added->chunk = added->dim < 0 ? 0 : plan.buffers[buffer]->shape[0];
    added->buffer = buffer;
    plan.parameters.push_back(std::move(added));
    return *plan.parameters.back();
  }
  std::int32_t unit(std::string name) {
    auto added = std::make_unique<plan::UnitT>();
    added->name = std::move(name);
    plan.units.push_back(std::move(added));
    return static_cast<std::int32_t>(plan.units.size() - 1);
  }

  /// A buffer of bytes without a shape.
  std::uint32_t buffer(std::uint64_t bytes, plan::Space space = plan::Space::device) {
    const std::uint32_t id = buffer("", {static_cast<std::int64_t>(bytes)}, plan::DType::u8, space);
    plan.buffers[id]->shape.clear();
    return id;
  }

  /// A parameter in f32 of zeros with a new buffer, sharded on `dim` along `axes`.
  plan::ParameterT &parameter(std::string name, Shape shape, int dim = -1, std::vector<std::uint32_t> axes = {}) {
    Shape shard = shape;
    if (dim >= 0)
      shard[static_cast<std::size_t>(dim)] =
          chunkOf(shape[static_cast<std::size_t>(dim)], static_cast<std::int64_t>(groupSize(plan, axes)));
    plan::ParameterT &added = parameter(name, shape, std::move(axes), buffer(*elementCount(shard) * sizeof(float)));
    added.dtype = plan::DType::f32;
    added.initializer = std::make_unique<plan::InitializerT>();
    added.dim = dim;
    added.chunk = dim < 0 ? 0 : shard[static_cast<std::size_t>(dim)];
    return added;
  }

  /// A port with a new buffer, with `repetitions` slices unless that is 0.
  std::unique_ptr<plan::PortT> port(std::string name, plan::DType dtype, Shape shape, std::uint32_t repetitions = 0,
                                    std::uint64_t limit = 0) {
    const std::uint64_t bytes = *elementCount(shape) * dtypeBytes(baseType(dtype));
    auto added = std::make_unique<plan::PortT>();
    added->name = std::move(name);
    added->role = impliedPortRole(added->name);
    added->limit = limit;
    added->per_repetition = repetitions > 0;
    added->view = std::make_unique<plan::ViewT>();
    added->view->dtype = dtype;
    added->view->shape = std::move(shape);
    added->view->repetition_stride = repetitions ? bytes : 0;
    added->view->buffer = buffer(bytes * std::max(repetitions, 1u), plan::Space::host);
    return added;
  }

  /// A train step with tokens and targets of rows x length, scalars, loss, norm and guard.
  plan::EntryT &trainStep(std::int64_t rows, std::int64_t length, std::uint32_t microbatches,
                          std::uint64_t vocabulary) {
    plan.learning_rate = std::make_unique<plan::LearningRateT>();
    plan.learning_rate->peak = 1e-3;
    plan::EntryT &step = entry("train_step");
    section(microbatches);
    step.inputs.push_back(port("tokens", plan::DType::i32, {rows, length}, microbatches, vocabulary));
    step.inputs.push_back(port("targets", plan::DType::i32, {rows, length}, microbatches, vocabulary));
    step.inputs.push_back(port("lr", plan::DType::f32, {}));
    step.inputs.push_back(port("step", plan::DType::i64, {}));
    step.outputs.push_back(port("loss", plan::DType::f32, {}));
    step.outputs.push_back(port("grad_norm", plan::DType::f32, {}));
    step.outputs.push_back(port("guard", plan::DType::u8, {}));
    return step;
  }

private:
  void addAxis(std::string name, std::uint32_t size) {
    auto axis = std::make_unique<plan::AxisT>();
    axis->name = std::move(name);
    axis->size = size;
    axis->role = impliedAxisRole(axis->name).value_or(plan::AxisRole::tensor);
    plan.mesh.push_back(std::move(axis));
  }

  template <typename Operation> plan::InstructionT &add(std::uint32_t stream, Operation &&operation) {
    auto added = std::make_unique<plan::InstructionT>();
    added->stream = stream;
    added->operation.Set(std::forward<Operation>(operation));
    auto &instructions = plan.entries.back()->sections.back()->instructions;
    instructions.push_back(std::move(added));
    return *instructions.back();
  }
};

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_PLANBUILDER_H
