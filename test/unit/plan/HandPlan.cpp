//===- HandPlan.cpp - a small correct plan, which tests change ---------------------===//
//
// See HandPlan.h.
//
//===----------------------------------------------------------------------===//
#include "HandPlan.h"

#include "runtime/plan/Serialize.h"

#include <algorithm>

namespace sluice::test {
namespace {

constexpr std::uint32_t shardAxis = 1;

template <typename... Views> std::vector<std::unique_ptr<plan::ViewT>> list(Views... views) {
  std::vector<std::unique_ptr<plan::ViewT>> all;
  (all.push_back(std::move(views)), ...);
  return all;
}

} // namespace

HandPlan::HandPlan(bool carries) : carries(carries) {
  addTables();
  addProgram();
  plan.entries.push_back(std::make_unique<plan::EntryT>());
  entry().name = "train_step";
  for (auto [name, repeat] : {std::pair("micro", 2u), std::pair("update", 1u)}) {
    auto section = std::make_unique<plan::SectionT>();
    section->name = name;
    section->repeat = repeat;
    entry().sections.push_back(std::move(section));
  }
  addForward();
  addBackward();
  addUpdate();
  addLifespans();
  seal();
}

void HandPlan::seal() { serializePlan(plan); }

plan::InstructionT &HandPlan::at(const std::string &label) {
  std::uint32_t i = index(label);
  for (auto &section : entry().sections) {
    if (i < section->instructions.size())
      return *section->instructions[i];
    i -= std::uint32_t(section->instructions.size());
  }
  std::abort();
}

plan::ParameterT &HandPlan::parameter(const std::string &name) {
  return **std::find_if(plan.parameters.begin(), plan.parameters.end(),
                        [&](const auto &parameter) { return parameter->name == name; });
}

void HandPlan::drop(const std::string &label) {
  plan::RecordT record;
  record.event = entry().events++;
  at(label).operation.Set(std::move(record));
  at(label).unit = -1;
}

void HandPlan::exchange(const std::string &first, const std::string &second) {
  std::swap(at(first), at(second));
  std::swap(labels.at(first), labels.at(second));
}

std::unique_ptr<plan::ViewT> HandPlan::view(const std::string &name, Shape shape) const {
  auto view = std::make_unique<plan::ViewT>();
  view->buffer = buffers.at(name);
  view->dtype = plan.buffers[view->buffer]->dtype;
  view->shape = shape.empty() ? plan.buffers[view->buffer]->shape : shape;
  return view;
}

std::unique_ptr<plan::ViewT> HandPlan::shard(const std::string &name, std::int64_t rows) const {
  auto result = view(name);
  auto valid = std::make_unique<plan::ValidT>();
  valid->axes = {shardAxis};
  valid->chunk = 2;
  valid->total = rows;
  result->valid.push_back(std::move(valid));
  return result;
}

void HandPlan::addBuffer(const std::string &name, plan::BufferClass bufferClass, Shape shape, std::uint64_t offset,
                         plan::Space space) {
  auto buffer = std::make_unique<plan::BufferT>();
  buffer->name = name;
  buffer->space = space;
  buffer->class_ = bufferClass;
  buffer->shape = shape;
  buffer->bytes = *elementCount(shape) * 4;
  buffer->offset = offset;
  buffers[name] = std::uint32_t(plan.buffers.size());
  plan.buffers.push_back(std::move(buffer));
}

void HandPlan::addProgram() {
  plan.program = std::make_unique<plan::ProgramT>();
  plan::ProgramT &program = *plan.program;
  program.types.push_back(std::make_unique<plan::ProgramTypeT>());
  program.types[0]->shape = {2, 4};
  program.kinds.push_back(std::make_unique<plan::ProgramKindT>());
  program.kinds[0]->op = "model.multiply";
  program.kinds[0]->attributes.push_back(std::make_unique<plan::AttributeT>());
  program.kinds[0]->attributes[0]->name = "axis";
  program.names = {"", "x", "block"};
  // Two products: 2 = 1 * 1, 3 = 2 * 1.
  program.values = {0, 0, 0};
  program.op_kinds = {0, 0};
  program.op_blocks = {0, 2};
  program.op_symbols = {0, 0};
  program.operands = {1, 1, 2, 1};
  program.operand_ends = {2, 4};
  program.results = {2, 3};
  program.result_ends = {1, 2};
  program.inputs = {1};
  program.input_names = {1};
  program.outputs = {3};
}

void HandPlan::addParameter(const std::string &name, std::int64_t rows, std::uint32_t unit) {
  auto parameter = std::make_unique<plan::ParameterT>();
  parameter->name = name;
  parameter->shape = {rows, 4};
  parameter->unit = unit;
  parameter->dim = 0;
  parameter->axes = {shardAxis};
  parameter->chunk = 2;
  parameter->buffer = buffers.at(name);
  parameter->key = unit;
  parameter->initializer = std::make_unique<plan::InitializerT>();
  parameter->initializer->kind = plan::InitializerKind::normal;
  parameter->initializer->b = 0.02;
  auto state = std::make_unique<plan::StateT>();
  state->name = "momentum_buffer";
  state->buffer = buffers.at(name + ".momentum_buffer");
  parameter->states.push_back(std::move(state));
  plan.units[unit]->parameters.push_back(std::uint32_t(plan.parameters.size()));
  plan.parameters.push_back(std::move(parameter));
}

void HandPlan::addTables() {
  plan.name = "hand";
  plan.target = std::make_unique<plan::TargetT>();
  plan.target->device = "cpu";
  plan.target->threads = 1;
  plan.target->isa = "avx2";
  plan.microbatches = 2;
  plan.batch = 2;
  plan.sequence = 4;
  for (auto [name, size] : {std::pair("replicate", 1u), std::pair("shard", 2u)}) {
    auto axis = std::make_unique<plan::AxisT>();
    axis->name = name;
    axis->size = size;
    plan.mesh.push_back(std::move(axis));
  }
  plan.data_axes = {0, shardAxis};
  plan.learning_rate = std::make_unique<plan::LearningRateT>();
  plan.learning_rate->peak = 1e-3;
  for (auto [name, workspace] : {std::pair("compute", 128u), std::pair("gather", 0u), std::pair("reduce", 0u)}) {
    auto stream = std::make_unique<plan::StreamT>();
    stream->name = name;
    stream->workspace = workspace;
    plan.streams.push_back(std::move(stream));
  }
  for (const char *name : {"a", "b"}) {
    auto unit = std::make_unique<plan::UnitT>();
    unit->name = name;
    plan.units.push_back(std::move(unit));
  }
  plan.kernels = {"multiply", "reduce_sum", "accumulate", "sgd"};
  plan.recipe = {"mesh.shard = 2"};
  auto device = std::make_unique<plan::ArenaT>();
  device->alignment = 64;
  device->persistent = 256;
  device->bytes = 1024;
  device->workspace = 128;
  auto host = std::make_unique<plan::ArenaT>(*device);
  host->space = plan::Space::host;
  host->persistent = host->bytes = host->peak_live = 192;
  host->workspace = 0;
  plan.arenas.push_back(std::move(device));
  plan.arenas.push_back(std::move(host));

  using enum plan::BufferClass;
  addBuffer("a.weight", plan::BufferClass::parameter, {2, 4}, 0);
  addBuffer("a.weight.momentum_buffer", optimizer, {2, 4}, 64);
  addBuffer("b.weight", plan::BufferClass::parameter, {2, 4}, 128);
  addBuffer("b.weight.momentum_buffer", optimizer, {2, 4}, 192);
  addBuffer("host.x", input, {2, 2, 4}, 0, plan::Space::host);
  addBuffer("host.lr", input, {}, 64, plan::Space::host);
  addBuffer("host.loss", input, {}, 128, plan::Space::host);
  addParameter("a.weight", 3, 0);
  addParameter("b.weight", 4, 1);
  addBuffer("gathered.a", gathered, {4, 4}, 256);
  addBuffer("gathered.b", gathered, {4, 4}, 320);
  addBuffer("x", activation, {2, 4}, 384);
  addBuffer("h", activation, {3, 4}, 448);
  addBuffer("y", activation, {4, 4}, 512);
  addBuffer("loss", temporary, {}, 576);
  // At the offset of y, from which it is computed.
  addBuffer("grad.b", gradient, {4, 4}, 512);
  addBuffer("sum.b", gradient, {4, 4}, 640);
  addBuffer("grad.a", gradient, {3, 4}, 512);
  addBuffer("sum.a", gradient, {4, 4}, 704);
  addBuffer("shard.b", gradient_shard, {2, 4}, 768);
  addBuffer("shard.a", gradient_shard, {2, 4}, 832);
  addBuffer("lr", input, {}, 896);
  buffer("gathered.a").unit = 0;
  buffer("gathered.b").unit = 1;
}

plan::InstructionT &HandPlan::add(const std::string &label, const std::string &stream, plan::Phase phase, int unit) {
  auto instruction = std::make_unique<plan::InstructionT>();
  for (std::uint32_t s = 0; s < plan.streams.size(); ++s)
    if (plan.streams[s]->name == stream)
      instruction->stream = s;
  instruction->phase = phase;
  instruction->unit = unit;
  labels[label] = instructionCount(entry());
  plan::SectionT &target = section(phase == plan::Phase::update ? 1 : 0);
  target.instructions.push_back(std::move(instruction));
  return *target.instructions.back();
}

void HandPlan::addLaunch(const std::string &label, plan::Phase phase, int unit, const std::string &kernel,
                         std::vector<std::unique_ptr<plan::ViewT>> inputs,
                         std::vector<std::unique_ptr<plan::ViewT>> outputs) {
  plan::LaunchT launch;
  launch.kernel = std::uint32_t(std::find(plan.kernels.begin(), plan.kernels.end(), kernel) - plan.kernels.begin());
  launch.inputs = std::move(inputs);
  launch.outputs = std::move(outputs);
  if (kernel == "reduce_sum")
    launch.reduction = plan::ReductionClass::ordered;
  add(label, "compute", phase, unit).operation.Set(std::move(launch));
}

void HandPlan::addCollective(const std::string &label, plan::Phase phase, int unit, plan::CollectiveKind kind,
                             std::unique_ptr<plan::ViewT> source, std::unique_ptr<plan::ViewT> destination) {
  plan::CollectiveT collective;
  collective.kind = kind;
  collective.axes = {shardAxis};
  const bool reduces = kind == plan::CollectiveKind::reduce_scatter;
  collective.op = reduces ? plan::ReduceOp::mean : plan::ReduceOp::none;
  collective.reduction = reduces ? plan::ReductionClass::ordered : plan::ReductionClass::not_a_reduction;
  auto segment = std::make_unique<plan::SegmentT>();
  segment->source = std::move(source);
  segment->destination = std::move(destination);
  collective.segments.push_back(std::move(segment));
  add(label, reduces ? "reduce" : "gather", phase, unit).operation.Set(std::move(collective));
}

void HandPlan::addRecord(const std::string &label, const std::string &stream, plan::Phase phase) {
  plan::RecordT record;
  const auto known = events.find(label);
  record.event = known != events.end() ? known->second : events[label] = entry().events++;
  add(label, stream, phase, -1).operation.Set(std::move(record));
}

plan::WaitT &HandPlan::addWait(const std::string &record, const std::string &stream, plan::Phase phase) {
  plan::WaitT wait;
  wait.event = events.at(record);
  plan::InstructionT &added = add(stream + " waits: " + record, stream, phase, -1);
  added.operation.Set(std::move(wait));
  return *added.operation.AsWait();
}

void HandPlan::addRelease(const std::string &label, const std::string &name, int unit) {
  plan::ReleaseT release;
  release.buffers = {buffers.at(name)};
  add(label, "compute", plan::Phase::backward, unit).operation.Set(std::move(release));
}

void HandPlan::addCopy(const std::string &label, plan::Phase phase, std::unique_ptr<plan::ViewT> source,
                       std::unique_ptr<plan::ViewT> destination) {
  plan::CopyT copy;
  copy.source = std::move(source);
  copy.destination = std::move(destination);
  add(label, "compute", phase, -1).operation.Set(std::move(copy));
}

void HandPlan::addForward() {
  constexpr auto forward = plan::Phase::forward;
  for (auto [name, isInput] : {std::pair("x", true), std::pair("lr", true), std::pair("loss", false)}) {
    auto port = std::make_unique<plan::PortT>();
    port->name = name;
    port->view = view(std::string("host.") + name);
    if (port->name == "x") {
      port->view = view("host.x", {2, 4});
      port->view->repetition_stride = 32;
      port->per_repetition = true;
    }
    (isInput ? entry().inputs : entry().outputs).push_back(std::move(port));
  }
  if (carries) {
    events["a updated"] = entry().events++;
    addWait("a updated", "gather", forward).carried = true;
    at("gather waits: a updated").when = plan::When::first;
  }
  addCollective("gather a", forward, 0, plan::CollectiveKind::all_gather, view("a.weight"), view("gathered.a"));
  addRecord("a gathered", "gather", forward);
  auto x = view("host.x", {2, 4});
  x->repetition_stride = 32;
  addCopy("copy x", forward, std::move(x), view("x"));
  addWait("a gathered", "compute", forward);
  addLaunch("h", forward, 0, "multiply", list(view("x"), view("gathered.a", {3, 4})), list(view("h")));
  addRecord("h done", "compute", forward);
  addWait("h done", "gather", forward);
  addCollective("gather b", forward, 1, plan::CollectiveKind::all_gather, view("b.weight"), view("gathered.b"));
  addRecord("b gathered", "gather", forward);
  addWait("b gathered", "compute", forward);
  addLaunch("y", forward, 1, "multiply", list(view("h"), view("gathered.b")), list(view("y")));
  addLaunch("loss", plan::Phase::loss, -1, "reduce_sum", list(view("y")), list(view("loss")));
}

void HandPlan::addBackward() {
  constexpr auto backward = plan::Phase::backward;
  for (const char *unit : {"b", "a"}) {
    const std::string u = unit;
    const bool isA = u == "a";
    const Shape rows{isA ? 3 : 4, 4};
    addLaunch("grad " + u, backward, isA ? 0 : 1, "multiply",
              list(isA ? view("h") : view("y"), view("gathered." + u, rows)), list(view("grad." + u)));
    addRelease("release " + u, "gathered." + u, isA ? 0 : 1);
    for (bool first : {true, false}) {
      const std::string label = (first ? "sum " : "add ") + u;
      addLaunch(label, backward, isA ? 0 : 1, "accumulate", list(view("grad." + u)), list(view("sum." + u, rows)));
      auto attribute = std::make_unique<plan::AttributeT>();
      attribute->name = "first";
      attribute->integer = first;
      launch(label).attributes.push_back(std::move(attribute));
      at(label).when = first ? plan::When::first : plan::When::not_first;
    }
    addRecord(u + " summed", "compute", backward);
    addWait(u + " summed", "reduce", backward);
    addCollective("reduce " + u, backward, isA ? 0 : 1, plan::CollectiveKind::reduce_scatter, view("sum." + u),
                  view("shard." + u));
    addRecord(u + " reduced", "reduce", backward);
    for (const std::string &label : {u + " summed", "reduce waits: " + u + " summed", "reduce " + u, u + " reduced"})
      at(label).when = plan::When::last;
  }
  // The next gather writes where the backward has read.
  addRecord("micro done", "compute", backward);
  addWait("micro done", "gather", backward);
}

void HandPlan::addUpdate() {
  constexpr auto update = plan::Phase::update;
  addCopy("copy lr", update, view("host.lr"), view("lr"));
  for (const char *unit : {carries ? "a" : "b", carries ? "b" : "a"}) {
    const std::string u = unit, weight = u + ".weight", momentum = weight + ".momentum_buffer";
    const std::int64_t rows = u == "a" ? 3 : 4;
    addWait(u + " reduced", "compute", update);
    addLaunch("update " + u, update, u == "a" ? 0 : 1, "sgd",
              list(shard(weight, rows), shard("shard." + u, rows), shard(momentum, rows), view("lr")),
              list(shard(weight, rows), shard(momentum, rows)));
    if (carries && u == "a")
      addRecord("a updated", "compute", update);
  }
  addCopy("copy loss", update, view("loss"), view("host.loss"));
  addRecord("step done", "compute", update);
  if (!carries)
    addWait("step done", "gather", update);
  addWait("step done", "reduce", update);
}

void HandPlan::lives(const std::string &name, const std::string &first, const std::string &last) {
  plan::BufferT &target = buffer(name);
  target.entry = 0;
  target.begin = index(first);
  target.end = index(last) + 1;
}

void HandPlan::addLifespans() {
  const std::string sectionEnd = "gather waits: micro done", stepEnd = "reduce waits: step done";
  const std::string first = carries ? "gather waits: a updated" : "gather a";
  for (const char *name : {"host.x", "host.lr", "host.loss"})
    lives(name, first, stepEnd);
  lives("gathered.a", "gather a", "release a");
  lives("gathered.b", "gather b", "release b");
  lives("x", "copy x", "h");
  lives("h", "h", "grad a");
  lives("y", "y", "grad b");
  lives("loss", "loss", "copy loss");
  lives("grad.b", "grad b", "add b");
  lives("grad.a", "grad a", "add a");
  // Carried from one micro-batch to the next, so live over the complete section.
  lives("sum.b", first, sectionEnd);
  lives("sum.a", first, sectionEnd);
  lives("shard.b", "reduce b", "update b");
  lives("shard.a", "reduce a", "update a");
  lives("lr", "copy lr", carries ? "update b" : "update a");
  if (carries)
    buffer("gathered.a").reserved_from = index("a updated") + 1;
  plan.arenas[0]->peak_live = 0;
  for (std::uint32_t i = 0; i < instructionCount(entry()); ++i) {
    std::uint64_t live = 0;
    for (const auto &each : plan.buffers)
      if (each->space == plan::Space::device &&
          (each->entry < 0 || (each->begin <= i && i < each->end) ||
           (each->reserved_from != 0 && (i < each->begin || each->reserved_from <= i))))
        live += each->bytes;
    // grad.b replaces y in place.
    if (i == index("grad b"))
      live -= buffer("y").bytes;
    plan.arenas[0]->peak_live = std::max(plan.arenas[0]->peak_live, live);
  }
  plan.arenas[1]->peak_live = 64 + 4 + 4;
}

} // namespace sluice::test
