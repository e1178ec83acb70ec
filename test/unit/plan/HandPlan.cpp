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

} // namespace

HandPlan::HandPlan(bool carries) : PlanBuilder({{"replicate", 1}, {"shard", 2}}), carries(carries) {
  addTables();
  addProgram();
  PlanBuilder::entry("train_step", 0);
  PlanBuilder::section(2);
  section(0).name = "micro";
  addForward();
  addBackward();
  PlanBuilder::section();
  section(1).name = "update";
  section(1).kind = plan::SectionKind::update;
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

void HandPlan::insertAfter(const std::string &label, plan::LaunchT launch) {
  const std::uint32_t i = index(label) + 1;
  auto added = std::make_unique<plan::InstructionT>(at(label));
  added->operation.Set(std::move(launch));
  std::uint32_t first = 0;
  for (auto &section : entry().sections) {
    if (i <= first + section->instructions.size()) {
      section->instructions.insert(section->instructions.begin() + (i - first), std::move(added));
      break;
    }
    first += std::uint32_t(section->instructions.size());
  }
  for (auto &[name, position] : labels)
    position += position >= i;
  for (auto &each : plan.buffers)
    if (each->entry == 0) {
      each->begin += each->begin >= i;
      each->end += each->end >= i;
      each->reserved_from += each->reserved_from >= i;
    }
}

void HandPlan::exchange(const std::string &first, const std::string &second) {
  std::swap(at(first), at(second));
  std::swap(labels.at(first), labels.at(second));
}

plan::ViewT HandPlan::window(const std::string &name, Shape shape) const {
  const std::uint32_t id = buffers.at(name);
  return shape.empty() ? PlanBuilder::view(id) : PlanBuilder::view(id, std::move(shape));
}

std::unique_ptr<plan::ViewT> HandPlan::view(const std::string &name, Shape shape) const {
  return std::make_unique<plan::ViewT>(window(name, std::move(shape)));
}

plan::ViewT HandPlan::shard(const std::string &name, std::int64_t rows) const {
  return padded(window(name), 0, {shardAxis}, 2, rows);
}

void HandPlan::addBuffer(const std::string &name, plan::BufferClass bufferClass, Shape shape, std::uint64_t offset,
                         plan::Space space, plan::DType dtype) {
  buffers[name] = PlanBuilder::buffer(name, std::move(shape), dtype, space);
  buffer(name).class_ = bufferClass;
  buffer(name).offset = offset;
}

void HandPlan::addProgram() {
  plan.program = std::make_unique<plan::ProgramT>();
  plan::ProgramT &program = *plan.program;
  for (const Shape &shape : {Shape{2, 4}, Shape{}, parameter("a.weight").shape, parameter("b.weight").shape}) {
    program.types.push_back(std::make_unique<plan::ProgramTypeT>());
    program.types.back()->shape = shape;
  }
  program.types.push_back(std::make_unique<plan::ProgramTypeT>());
  program.types.back()->dtype = plan::DType::i64;
  // The checker has no rule for the first, so it leaves open what the plan computes.
  for (const char *op :
       {"model.accumulate", "model.read", "model.reduce_sum", "model.read", "model.write", "model.write"}) {
    program.kinds.push_back(std::make_unique<plan::ProgramKindT>());
    program.kinds.back()->op = op;
  }
  program.kinds[0]->attributes.push_back(std::make_unique<plan::AttributeT>());
  program.kinds[0]->attributes[0]->name = "axis";
  program.kinds[2]->attributes.push_back(std::make_unique<plan::AttributeT>());
  program.kinds[2]->attributes[0]->name = "dims";
  program.kinds[2]->attributes[0]->kind = 2;
  program.kinds[2]->attributes[0]->list = {0, 1};
  for (std::size_t kind : {3, 5}) {
    plan::AttributeT &state = *program.kinds[kind]->attributes.emplace_back(std::make_unique<plan::AttributeT>());
    state.name = "state";
    state.kind = 2;
    for (char character : std::string("momentum_buffer"))
      state.list.push_back(character);
  }
  program.names = {"", "x", "block", "a.weight", "b.weight", "lr", "step", "loss"};
  addFunction("train_step", {"a.weight", "b.weight"});
}

void HandPlan::addFunction(const std::string &name, const std::vector<std::string> &parameters) {
  plan::ProgramT &program = *plan.program;
  const auto define = [&](std::uint32_t type) {
    program.values.push_back(type);
    return std::uint32_t(program.values.size());
  };
  const auto op = [&](std::uint32_t kind, std::vector<std::uint32_t> operands, std::uint32_t symbol,
                      std::uint32_t type) {
    program.op_kinds.push_back(kind);
    program.op_blocks.push_back(2);
    program.op_symbols.push_back(symbol);
    program.operands.insert(program.operands.end(), operands.begin(), operands.end());
    program.operand_ends.push_back(std::uint32_t(program.operands.size()));
    const std::uint32_t result = define(type);
    program.results.push_back(result);
    program.result_ends.push_back(std::uint32_t(program.results.size()));
    return result;
  };
  std::uint32_t value = define(0);
  program.inputs.insert(program.inputs.end(), {value, define(1), define(4)});
  program.input_names.insert(program.input_names.end(), {1, 5, 6});
  program.input_roles.insert(program.input_roles.end(),
                             {plan::PortRole::data, plan::PortRole::learning_rate, plan::PortRole::step});
  const auto symbolOf = [&](const std::string &parameter) {
    return std::uint32_t(std::ranges::find(program.names, parameter) - program.names.begin());
  };
  const auto typeOf = [](const std::string &parameter) { return parameter == "a.weight" ? 2u : 3u; };
  for (const std::string &parameter : parameters)
    op(3, {}, symbolOf(parameter), typeOf(parameter));
  for (const std::string &parameter : parameters)
    value = op(0, {value, op(1, {}, symbolOf(parameter), typeOf(parameter))}, 0, 0);
  program.outputs.push_back(op(2, {value}, 0, 1));
  for (const std::string &parameter : parameters)
    for (std::uint32_t kind : {4, 5}) {
      const std::uint32_t updated = op(0, {value}, 0, typeOf(parameter));
      program.op_kinds.push_back(kind);
      program.op_blocks.push_back(2);
      program.op_symbols.push_back(symbolOf(parameter));
      program.operands.push_back(updated);
      program.operand_ends.push_back(std::uint32_t(program.operands.size()));
      program.result_ends.push_back(std::uint32_t(program.results.size()));
    }
  program.output_names.push_back(7);
  auto function = std::make_unique<plan::ProgramFunctionT>();
  function->name = std::uint32_t(program.names.size());
  program.names.push_back(name);
  function->ops_end = std::uint32_t(program.op_kinds.size());
  function->inputs_end = std::uint32_t(program.inputs.size());
  function->outputs_end = std::uint32_t(program.outputs.size());
  program.functions.push_back(std::move(function));
}

void HandPlan::addParameter(const std::string &name, std::int64_t rows, std::uint32_t unit) {
  plan::ParameterT &parameter = PlanBuilder::parameter(name, {rows, 4}, {shardAxis}, buffers.at(name));
  parameter.unit = unit;
  parameter.key = unit;
  auto state = std::make_unique<plan::StateT>();
  state->name = "momentum_buffer";
  state->buffer = buffers.at(name + ".momentum_buffer");
  parameter.states.push_back(std::move(state));
  plan.units[unit]->parameters.push_back(std::uint32_t(plan.parameters.size() - 1));
}

void HandPlan::addTables() {
  plan.name = "hand";
  plan.target->isa = "avx2";
  plan.microbatches = 2;
  plan.batch = 2;
  plan.sequence = 4;
  plan.learning_rate = std::make_unique<plan::LearningRateT>();
  plan.learning_rate->peak = 1e-3;
  stream("compute", 128);
  for (const char *name : {"gather", "reduce"})
    stream(name);
  for (const char *name : {"a", "b"})
    unit(name);
  plan.kernels = {"multiply", "reduce_sum", "accumulate", "sgd"};
  plan.recipe = {"mesh.shard = 2"};

  using enum plan::BufferClass;
  addBuffer("a.weight", plan::BufferClass::parameter, {2, 4}, 0);
  addBuffer("a.weight.momentum_buffer", optimizer, {2, 4}, 64);
  addBuffer("b.weight", plan::BufferClass::parameter, {2, 4}, 128);
  addBuffer("b.weight.momentum_buffer", optimizer, {2, 4}, 192);
  addBuffer("host.x", input, {2, 2, 4}, 0, plan::Space::host);
  addBuffer("host.lr", input, {}, 64, plan::Space::host);
  addBuffer("host.loss", input, {}, 128, plan::Space::host);
  addBuffer("host.step", input, {}, 192, plan::Space::host, plan::DType::i64);
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
  addBuffer("step", input, {}, 960, plan::Space::device, plan::DType::i64);
  addBuffer("clip", temporary, {}, 1024);
  addBuffer("guard", temporary, {}, 1088, plan::Space::device, plan::DType::u8);
  buffer("gathered.a").unit = 0;
  buffer("gathered.b").unit = 1;
  plan.arenas[0]->persistent = 256;
  plan.arenas[0]->bytes = 1152;
  plan.arenas[1]->bytes = 256;
}

std::uint32_t HandPlan::streamId(const std::string &name) const {
  return std::uint32_t(std::ranges::find(plan.streams, name, [](const auto &stream) { return stream->name; }) -
                       plan.streams.begin());
}

plan::InstructionT &HandPlan::label(const std::string &label, plan::Phase phase, int unit) {
  plan::InstructionT &added = *entry().sections.back()->instructions.back();
  added.phase = phase;
  added.unit = unit;
  labels[label] = instructionCount(entry()) - 1;
  return added;
}

void HandPlan::addLaunch(const std::string &label, plan::Phase phase, int unit, const std::string &kernel,
                         std::vector<plan::ViewT> inputs, std::vector<plan::ViewT> outputs) {
  plan::InstructionT &added = PlanBuilder::launch(streamId("compute"), kernel, std::move(inputs), std::move(outputs));
  if (kernel == "reduce_sum")
    added.operation.AsLaunch()->reduction = plan::ReductionClass::ordered;
  this->label(label, phase, unit);
}

void HandPlan::addCollective(const std::string &label, plan::Phase phase, int unit, plan::CollectiveKind kind,
                             plan::ViewT source, plan::ViewT destination) {
  const bool reduces = kind == plan::CollectiveKind::reduce_scatter;
  std::vector<std::pair<plan::ViewT, plan::ViewT>> segments = {{std::move(source), std::move(destination)}};
  PlanBuilder::collective(streamId(reduces ? "reduce" : "gather"), kind, {shardAxis},
                          reduces ? plan::ReduceOp::mean : plan::ReduceOp::none, std::move(segments));
  plan::CollectiveT &added = *this->label(label, phase, unit).operation.AsCollective();
  added.reduction = reduces ? plan::ReductionClass::ordered : plan::ReductionClass::not_a_reduction;
}

void HandPlan::addRecord(const std::string &label, const std::string &stream, plan::Phase phase) {
  const auto [known, isNew] = events.try_emplace(label, entry().events);
  entry().events += isNew;
  record(streamId(stream), known->second);
  this->label(label, phase, -1);
}

plan::WaitT &HandPlan::addWait(const std::string &record, const std::string &stream, plan::Phase phase) {
  wait(streamId(stream), events.at(record));
  return *label(stream + " waits: " + record, phase, -1).operation.AsWait();
}

void HandPlan::addRelease(const std::string &label, const std::string &name, int unit) {
  release(streamId("compute"), {buffers.at(name)});
  this->label(label, plan::Phase::backward, unit);
}

void HandPlan::addCopy(const std::string &label, plan::Phase phase, plan::ViewT source, plan::ViewT destination) {
  copy(streamId("compute"), std::move(source), std::move(destination));
  this->label(label, phase, -1);
}

void HandPlan::addForward() {
  constexpr auto forward = plan::Phase::forward;
  plan::ViewT x = window("host.x", {2, 4});
  x.repetition_stride = 32;
  port(entry().inputs, "x", x).per_repetition = true;
  port(entry().inputs, "lr", window("host.lr"));
  port(entry().inputs, "step", window("host.step"));
  port(entry().outputs, "loss", window("host.loss"));
  if (carries) {
    events["a updated"] = entry().events++;
    addWait("a updated", "gather", forward).carried = true;
    at("gather waits: a updated").when = plan::When::first;
  }
  addCollective("gather a", forward, 0, plan::CollectiveKind::all_gather, window("a.weight"), window("gathered.a"));
  addRecord("a gathered", "gather", forward);
  addCopy("copy x", forward, x, window("x"));
  addWait("a gathered", "compute", forward);
  addLaunch("h", forward, 0, "multiply", {window("x"), window("gathered.a", {3, 4})}, {window("h")});
  addRecord("h done", "compute", forward);
  addWait("h done", "gather", forward);
  addCollective("gather b", forward, 1, plan::CollectiveKind::all_gather, window("b.weight"), window("gathered.b"));
  addRecord("b gathered", "gather", forward);
  addWait("b gathered", "compute", forward);
  addLaunch("y", forward, 1, "multiply", {window("h"), window("gathered.b")}, {window("y")});
  addLaunch("loss", plan::Phase::loss, -1, "reduce_sum", {window("y")}, {window("loss")});
}

void HandPlan::addBackward() {
  constexpr auto backward = plan::Phase::backward;
  for (const char *unit : {"b", "a"}) {
    const std::string u = unit;
    const bool isA = u == "a";
    const Shape rows{isA ? 3 : 4, 4};
    addLaunch("grad " + u, backward, isA ? 0 : 1, "multiply",
              {isA ? window("h") : window("y"), window("gathered." + u, rows)}, {window("grad." + u)});
    addRelease("release " + u, "gathered." + u, isA ? 0 : 1);
    for (bool first : {true, false}) {
      const std::string label = (first ? "sum " : "add ") + u;
      addLaunch(label, backward, isA ? 0 : 1, "accumulate", {window("grad." + u)}, {window("sum." + u, rows)});
      auto attribute = std::make_unique<plan::AttributeT>();
      attribute->name = "first";
      attribute->integer = first;
      launch(label).attributes.push_back(std::move(attribute));
      at(label).when = first ? plan::When::first : plan::When::not_first;
    }
    addRecord(u + " summed", "compute", backward);
    addWait(u + " summed", "reduce", backward);
    addCollective("reduce " + u, backward, isA ? 0 : 1, plan::CollectiveKind::reduce_scatter, window("sum." + u),
                  window("shard." + u));
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
  addCopy("copy lr", update, window("host.lr"), window("lr"));
  addCopy("copy step", update, window("host.step"), window("step"));
  for (const char *name : {"clip", "guard"}) {
    fill(streamId("compute"), window(name), 1);
    label(std::string("fill ") + name, update, -1);
  }
  for (const char *unit : {carries ? "a" : "b", carries ? "b" : "a"}) {
    const std::string u = unit, weight = u + ".weight", momentum = weight + ".momentum_buffer";
    const std::int64_t rows = u == "a" ? 3 : 4;
    addWait(u + " reduced", "compute", update);
    addLaunch("update " + u, update, u == "a" ? 0 : 1, "sgd",
              {shard(weight, rows), shard("shard." + u, rows), shard(momentum, rows), window("lr"), window("step"),
               window("clip"), window("guard")},
              {shard(weight, rows), shard(momentum, rows)});
    attribute(at("update " + u), "momentum", 0.9);
    if (carries && u == "a")
      addRecord("a updated", "compute", update);
  }
  addCopy("copy loss", update, window("loss"), window("host.loss"));
  addRecord("step done", "compute", update);
  if (!carries)
    addWait("step done", "gather", update);
  addWait("step done", "reduce", update);
}

void HandPlan::setLifespan(const std::string &name, const std::string &first, const std::string &last) {
  plan::BufferT &target = buffer(name);
  target.entry = 0;
  target.begin = index(first);
  target.end = index(last) + 1;
}

void HandPlan::addLifespans() {
  const std::string sectionEnd = "gather waits: micro done", stepEnd = "reduce waits: step done";
  const std::string first = carries ? "gather waits: a updated" : "gather a";
  for (const char *name : {"host.x", "host.lr", "host.loss", "host.step"})
    setLifespan(name, first, stepEnd);
  setLifespan("gathered.a", "gather a", "release a");
  setLifespan("gathered.b", "gather b", "release b");
  setLifespan("x", "copy x", "h");
  setLifespan("h", "h", "grad a");
  setLifespan("y", "y", "grad b");
  setLifespan("loss", "loss", "copy loss");
  setLifespan("grad.b", "grad b", "add b");
  setLifespan("grad.a", "grad a", "add a");
  // Carried from one micro-batch to the next, so live over the complete section.
  setLifespan("sum.b", first, sectionEnd);
  setLifespan("sum.a", first, sectionEnd);
  setLifespan("shard.b", "reduce b", "update b");
  setLifespan("shard.a", "reduce a", "update a");
  const std::string last = carries ? "update b" : "update a";
  setLifespan("lr", "copy lr", last);
  setLifespan("step", "copy step", last);
  for (const char *name : {"clip", "guard"})
    setLifespan(name, std::string("fill ") + name, last);
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
  plan.arenas[1]->peak_live = 64 + 4 + 4 + 8;
}

} // namespace sluice::test
