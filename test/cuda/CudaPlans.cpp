//===- CudaPlans.cpp - runs plans on the CPU and on the emulated GPU, and compares ---------------------------------===//
//
//   cuda-plans [--steps N] [--tolerance X] PLAN...
//   cuda-plans [--steps N] --same PLAN...
//
// Each plan is retargeted to cuda (workspace caps of that device), its entry points `init` and `train_step` are run with the
// same random inputs by the CPU's executor and by the CUDA executor on the fake, and outputs and parameters are compared.
// With one rank it also compares what was put on the streams with the plan, instruction by instruction: kind, stream,
// event, addresses; and runs the step again from a recorded graph, to the bit.
//
// With --same the plans are of one model and one mesh: each is run on the fake, once as it is and once with streams that
// sleep now and then, and all must leave the first one's bits.
//
//===----------------------------------------------------------------------===//
#include "runtime/executor/RankGroup.h"
#include "runtime/plan/Checker.h"
#include "runtime/plan/Reader.h"
#include "test/cuda/Fake.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

using namespace sluice;
using namespace sluice::test;

namespace {

int failures = 0;
void complain(const std::string &plan, const std::string &text) {
  if (++failures <= 20)
    std::printf("%s: %s\n", plan.c_str(), text.c_str());
}

/// A plan for a CPU as one for CUDA.
void retarget(plan::PlanT &plan) {
  plan.target->device = "cuda";
  plan.target->isa.clear();
  for (auto &stream : plan.streams)
    stream->workspace = 0;
  for (auto &entry : plan.entries)
    forEachInstruction(*entry, [&](const plan::InstructionT &found, std::uint32_t, std::uint32_t) {
      auto &instruction = const_cast<plan::InstructionT &>(found);
      plan::LaunchT *launch = instruction.operation.AsLaunch();
      if (!launch)
        return;
      const auto operands = [](const std::vector<std::unique_ptr<plan::ViewT>> &views) {
        std::vector<Operand> made;
        for (const auto &view : views) {
          Operand operand;
          operand.dtype = baseType(view->dtype);
          operand.rank = static_cast<int>(view->shape.size());
          for (int d = 0; d < operand.rank; ++d)
            operand.shape[d] = operand.extent[d] = view->shape[d];
          made.push_back(operand);
        }
        return made;
      };
      const std::vector<Operand> in = operands(launch->inputs), out = operands(launch->outputs);
      std::vector<Attributes::Item> attributes;
      for (const auto &attribute : launch->attributes)
        attributes.push_back({attribute->name, attribute->integer, attribute->number, attribute->list});
      const std::string &kernel = plan.kernels[launch->kernel];
      launch->workspace = cudaWorkspaceCap(kernel, in, out, Attributes(std::move(attributes)));
      // The library may have 32 MiB; the fake writes all that it is given.
      if (kernel == "matmul" || kernel.starts_with("linear_cross_entropy"))
        launch->workspace -= (std::uint64_t(32) << 20) - 1024;
      auto &most = plan.streams[instruction.stream]->workspace;
      most = std::max<std::uint64_t>(most, launch->workspace);
    });
}

/// Everything that a run left.
struct Outcome {
  std::vector<std::vector<double>> values;
  std::vector<std::string> names;
};

double numberAt(const std::vector<std::byte> &bytes, DType dtype, std::size_t i) {
  const auto as = [&](auto x) {
    std::memcpy(&x, bytes.data() + i * sizeof x, sizeof x);
    return static_cast<double>(x);
  };
  switch (dtype) {
  case DType::f32:
    return as(float());
  case DType::f64:
    return as(double());
  case DType::i32:
    return as(std::int32_t());
  case DType::i64:
    return as(std::int64_t());
  case DType::u8:
    return as(std::uint8_t());
  default: {
    std::uint16_t half = 0;
    std::memcpy(&half, bytes.data() + i * 2, 2);
    const std::uint32_t word = static_cast<std::uint32_t>(half) << 16;
    float value;
    std::memcpy(&value, &word, 4);
    return value;
  }
  }
}

void fillInputs(const plan::PlanT &plan, const plan::EntryT &entry, Executor &executor, int step) {
  std::mt19937 engine(static_cast<unsigned>(17 * step + executor.rank()));
  for (const auto &port : entry.inputs) {
    Result<PortMemory> memory = executor.input(entry.name, port->name);
    std::size_t count = 1;
    for (std::int64_t extent : memory->shape)
      count *= static_cast<std::size_t>(extent);
    for (std::uint32_t r = 0; r < memory->repetitions; ++r)
      for (std::size_t i = 0; i < count; ++i) {
        if (memory->dtype == DType::f32)
          memory->as<float>(r)[i] = port->name == "lr" ? 0.001f : std::normal_distribution<float>()(engine);
        else if (memory->dtype == DType::f64)
          memory->as<double>(r)[i] = port->name == "lr" ? 0.001 : std::normal_distribution<double>()(engine);
        else if (memory->dtype == DType::i32)
          memory->as<std::int32_t>(r)[i] = static_cast<std::int32_t>(engine() % (memory->limit ? memory->limit : 2));
        else if (memory->dtype == DType::i64)
          memory->as<std::int64_t>(r)[i] = port->name == "step" ? step : port->name == "seed" ? 3 : 0;
      }
  }
}

Status runAll(const plan::PlanT &plan, RankGroup &group, int steps, Outcome &outcome) {
  const auto run = [&](const plan::EntryT &entry, int step) {
    for (int rank = 0; rank < group.size(); ++rank)
      fillInputs(plan, entry, group.executor(rank), step);
    SLUICE_RETURN_IF_ERROR(group.runEntry(entry.name));
    for (int rank = 0; rank < group.size(); ++rank)
      for (const auto &port : entry.outputs) {
        Result<PortMemory> memory = group.executor(rank).output(entry.name, port->name);
        std::vector<std::byte> bytes(memory->bytes);
        std::memcpy(bytes.data(), memory->base, bytes.size());
        std::vector<double> values(bytes.size() / dtypeBytes(memory->dtype));
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = numberAt(bytes, memory->dtype, i);
        outcome.names.push_back(entry.name + " " + std::to_string(step) + " " + port->name + " of rank " + std::to_string(rank));
        outcome.values.push_back(std::move(values));
      }
    return Status();
  };
  for (const auto &entry : plan.entries)
    if (entry->name == "init")
      SLUICE_RETURN_IF_ERROR(run(*entry, 0));
  for (int step = 1; step <= steps; ++step)
    for (const auto &entry : plan.entries)
      if (entry->name != "init")
        SLUICE_RETURN_IF_ERROR(run(*entry, step));
  for (int rank = 0; rank < group.size(); ++rank)
    for (const ParameterMemory &parameter : group.executor(rank).parameters()) {
      const Operand &value = parameter.tensor.value;
      std::vector<std::byte> bytes(static_cast<std::size_t>(value.elements()) * dtypeBytes(value.dtype));
      SLUICE_RETURN_IF_ERROR(group.executor(rank).read(bytes.data(), value.data, bytes.size()));
      std::vector<double> values(static_cast<std::size_t>(value.elements()));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = numberAt(bytes, value.dtype, i);
      outcome.names.push_back(std::string(parameter.tensor.name) + " of rank " + std::to_string(rank));
      outcome.values.push_back(std::move(values));
    }
  return {};
}

std::int64_t attributeOf(const plan::LaunchT &launch, std::string_view name, std::int64_t fallback) {
  for (const auto &attribute : launch.attributes)
    if (attribute->name == name)
      return attribute->integer;
  return fallback;
}

/// Launches and products of a kernel.
std::size_t launchesOf(const std::string &kernel, const plan::LaunchT &launch) {
  const std::size_t inputs = launch.inputs.size();
  if (kernel == "conv2d_weight_grad")
    return launch.workspace == 0 ? 1 : 2;
  if (kernel == "batch_norm")
    return 5;
  if (kernel == "batch_norm_grad")
    return 3;
  if (kernel.starts_with("linear_cross_entropy")) {
    const bool isGrad = kernel.ends_with("_grad");
    std::int64_t rows = 1;
    for (std::int64_t extent : launch.inputs[isGrad ? 3 : 2]->shape)
      rows *= extent;
    const std::int64_t chunk = attributeOf(launch, "rows", 1), chunks = (rows + chunk - 1) / chunk;
    return static_cast<std::size_t>(chunks * (isGrad ? 4 : 2) + 1);
  }
  if (kernel == "layer_norm_grad" || kernel == "rms_norm_grad")
    return 3;
  if (kernel == "power_sum")
    return inputs + 1;
  if (kernel == "all_finite" || kernel == "concat")
    return inputs;
  for (const char *two : {"cross_entropy", "cross_entropy_grad", "attention_grad", "embedding_grad", "scatter_add", "add_along", "pad"})
    if (kernel == two)
      return 2;
  return 1;
}

/// What the calls of one entry point must be: the plan's instructions in order of issue, on their streams, with their
/// events and addresses. One rank.
void compareCalls(const std::string &name, const plan::PlanT &plan, const plan::EntryT &entry, std::uint32_t firstEvent,
                  const std::byte *const arenas[2], const std::vector<FakeCall> &calls) {
  std::map<std::uint32_t, cuda::Stream> streams;
  std::map<std::uint32_t, cuda::Event> events;
  std::size_t at = 0;
  const auto place = [&](const plan::ViewT &view, std::uint32_t repetition) -> const void * {
    const plan::BufferT &buffer = *plan.buffers[view.buffer];
    return arenas[static_cast<int>(buffer.space)] + buffer.offset + view.offset + repetition * view.repetition_stride;
  };
  const auto onStream = [&](const FakeCall &call, std::uint32_t stream) {
    return streams.emplace(stream, call.stream).first->second == call.stream;
  };
  for (const auto &section : entry.sections)
    for (std::uint32_t repetition = 0; repetition < section->repeat; ++repetition)
      for (const auto &instruction : section->instructions) {
        if (!isIssued(*instruction, repetition, section->repeat))
          continue;
        const std::string what = entry.name + ": " + operationName(plan, *instruction);
        const auto next = [&]() -> const FakeCall * {
          if (at >= calls.size() || !onStream(calls[at], instruction->stream))
            return nullptr;
          return &calls[at];
        };
        const plan::RecordT *record = instruction->operation.AsRecord();
        const plan::WaitT *wait = instruction->operation.AsWait();
        if (record || wait) {
          const FakeCall *call = next();
          const std::uint32_t event = firstEvent + (record ? record->event : wait->event);
          if (!call || call->kind != (record ? FakeCall::Kind::record : FakeCall::Kind::wait) ||
              events.emplace(event, call->event).first->second != call->event)
            return complain(name, what + ", expected it at call " + std::to_string(at) + " but got another");
          ++at;
          continue;
        }
        // All that follows on this stream up to the next event, as far as the addresses of this instruction go.
        std::vector<const void *> wanted;
        std::size_t least = 1;
        if (const plan::LaunchT *launch = instruction->operation.AsLaunch()) {
          for (const auto *views : {&launch->inputs, &launch->outputs})
            for (const auto &view : *views) {
              bool empty = false;
              for (std::int64_t extent : view->shape)
                empty = empty || extent == 0;
              if (!empty)
                wanted.push_back(place(*view, repetition));
            }
        } else if (const plan::CopyT *copy = instruction->operation.AsCopy()) {
          wanted = {place(*copy->source, repetition), place(*copy->destination, repetition)};
        } else if (const plan::FillT *fill = instruction->operation.AsFill()) {
          wanted = {place(*fill->destination, repetition)};
        } else {
          // A release; one rank has no collectives.
          least = 0;
        }
        std::size_t used = 0;
        const plan::LaunchT *const launch = instruction->operation.AsLaunch();
        const std::size_t exact = launch ? launchesOf(plan.kernels[launch->kernel], *launch) : 0;
        while (launch ? used < exact : !wanted.empty()) {
          const FakeCall *call = next();
          if (!call || call->kind == FakeCall::Kind::record || call->kind == FakeCall::Kind::wait)
            break;
          std::erase_if(wanted, [&](const void *address) {
            if (std::ranges::find(call->addresses, address) != call->addresses.end())
              return true;
            for (std::size_t b = 0; b + 8 <= call->arguments.size(); b += 8)
              if (std::memcmp(call->arguments.data() + b, &address, 8) == 0)
                return true;
            return false;
          });
          ++at;
          ++used;
        }
        // A product of several batch dims is several of the library's, one behind the other in the result.
        if (launch && used && calls[at - 1].kind == FakeCall::Kind::matmul) {
          const auto *first = static_cast<const std::byte *>(calls[at - 1].addresses[0]);
          const std::byte *end = first + plan.buffers[launch->outputs[0]->buffer]->bytes;
          for (const FakeCall *call = next(); call && call->kind == FakeCall::Kind::matmul; call = next()) {
            const auto *result = static_cast<const std::byte *>(call->addresses[0]);
            if (result <= first || result >= end)
              break;
            ++at;
          }
        }
        if (!wanted.empty() || used < std::max(least, exact))
          return complain(name, what + ", expected all its operands by call " + std::to_string(at) + " but " +
                                    std::to_string(wanted.size()) + " are missing");
      }
  if (at != calls.size())
    complain(name, entry.name + ", expected " + std::to_string(at) + " calls but got " + std::to_string(calls.size()));
}

void runPlan(const std::string &path, int steps, double tolerance) {
  Result<PlanFile> file = readCheckedPlan(path);
  if (!file.isOk())
    return complain(path, file.status().message());
  plan::PlanT &plan = file->plan;
  Outcome onCpu, onGpu;
  {
    auto group = RankGroup::create(plan);
    Status status = group.isOk() ? runAll(plan, **group, steps, onCpu) : group.takeStatus();
    if (!status.isOk())
      return complain(path, "on the cpu: " + status.message());
  }
  retarget(plan);
  FakeCuda fake;
  {
    auto group = RankGroup::create(plan);
    Status status = group.isOk() ? runAll(plan, **group, steps, onGpu) : group.takeStatus();
    if (!status.isOk())
      return complain(path, "on cuda: " + status.message());
  }
  if (!fake.complaint().empty())
    complain(path, fake.complaint());
  if (fake.liveObjects() != 0)
    complain(path, std::to_string(fake.liveObjects()) + " objects of CUDA were not freed");
  double worst = 0;
  for (std::size_t i = 0; i < onCpu.values.size(); ++i) {
    double size = 1e-3, off = 0;
    for (double value : onCpu.values[i])
      if (std::isfinite(value))
        size = std::max(size, std::fabs(value));
    for (std::size_t k = 0; k < onCpu.values[i].size(); ++k)
      if (onCpu.values[i][k] != onGpu.values[i][k])
        off = std::max(off, std::fabs(onCpu.values[i][k] - onGpu.values[i][k]) / size);
    if (!(off <= tolerance))
      complain(path, onCpu.names[i] + " differs by " + std::to_string(off) + " of its size");
    worst = std::max(worst, off);
  }
  const std::uint64_t ranks = meshSize(plan);
  if (ranks == 1) {
    // Issued alone, then from a graph: the same bits; and the calls are the plan's.
    ExecutorOptions options;
    options.graphs = GraphMode::off;
    Outcome issued;
    auto group = RankGroup::create(plan, options);
    FakeCuda::takeCalls();
    Status status = group.isOk() ? Status() : group.takeStatus();
    if (status.isOk()) {
      const std::byte *arenas[2] = {};
      Executor &executor = (*group)->executor(0);
      for (const ParameterMemory &parameter : executor.parameters())
        arenas[0] = static_cast<const std::byte *>(parameter.tensor.value.data) -
                    plan.buffers[plan.parameters[parameter.index]->buffer]->offset;
      for (const auto &entry : plan.entries)
        for (const auto &port : entry->inputs)
          if (auto memory = executor.input(entry->name, port->name); memory.isOk())
            arenas[1] = memory->base - plan.buffers[port->view->buffer]->offset - port->view->offset;
      std::uint32_t firstEvent = 0;
      for (const auto &entry : plan.entries) {
        fillInputs(plan, *entry, executor, 1);
        status = (*group)->runEntry(entry->name);
        if (!status.isOk())
          break;
        compareCalls(path, plan, *entry, firstEvent, arenas, FakeCuda::takeCalls());
        firstEvent += entry->events;
      }
    }
    if (status.isOk()) {
      group = RankGroup::create(plan, options);
      status = runAll(plan, **group, steps, issued);
    }
    if (!status.isOk())
      complain(path, "without a graph: " + status.message());
    else if (issued.values != onGpu.values)
      complain(path, "a step from a graph gives other bits than one that is issued");
  }
  std::printf("%s: %llu ranks, %d steps, %zu tensors, largest difference %.2g of a tensor's size\n",
              path.substr(path.rfind('/') + 1).c_str(), static_cast<unsigned long long>(ranks), steps, onCpu.values.size(), worst);
}

/// Sleeps before one instruction in sixteen, another one each time.
class Jitter final : public DelayInjector {
public:
  void before(std::string_view stream, std::uint32_t instruction, std::uint32_t repetition) override {
    const std::size_t number = std::hash<std::string_view>()(stream) + instruction * 31 + repetition * 17 + calls++;
    if (number % 16 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

private:
  std::atomic<std::size_t> calls = 0;
};

void runSame(const std::vector<std::string> &paths, int steps) {
  Outcome first;
  for (const std::string &path : paths) {
    Result<PlanFile> file = readCheckedPlan(path);
    if (!file.isOk())
      return complain(path, file.status().message());
    retarget(file->plan);
    for (const bool delayed : {false, true}) {
      FakeCuda fake;
      Jitter jitter;
      ExecutorOptions options;
      options.delays = delayed ? &jitter : nullptr;
      Outcome outcome;
      auto group = RankGroup::create(file->plan, options);
      const Status status = group.isOk() ? runAll(file->plan, **group, steps, outcome) : group.takeStatus();
      if (!status.isOk())
        return complain(path, status.message());
      if (first.values.empty())
        first = outcome;
      if (outcome.names != first.names)
        complain(path, "other outputs or parameters than the first plan's");
      for (std::size_t i = 0; i < first.values.size() && i < outcome.values.size(); ++i)
        if (first.values[i].size() != outcome.values[i].size() ||
            std::memcmp(first.values[i].data(), outcome.values[i].data(), first.values[i].size() * sizeof(double)) != 0)
          complain(path, outcome.names[i] + (delayed ? " has other bits with delays" : " has other bits"));
    }
    std::printf("%s: %d steps, %zu tensors, the same bits\n", path.substr(path.rfind('/') + 1).c_str(), steps, first.values.size());
  }
}

} // namespace

int main(int count, char **arguments) {
  int steps = 3;
  double tolerance = 1e-4;
  bool same = false;
  std::vector<std::string> paths;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--steps")
      steps = std::atoi(arguments[++i]);
    else if (argument == "--tolerance")
      tolerance = std::atof(arguments[++i]);
    else if (argument == "--same")
      same = true;
    else
      paths.push_back(argument);
  }
  if (same)
    runSame(paths, steps);
  else
    for (const std::string &path : paths)
      runPlan(path, steps, tolerance);
  return failures != 0;
}
