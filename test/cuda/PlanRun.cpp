//===- PlanRun.cpp - running a plan's entry points with random inputs -------------------===//
#include "test/cuda/PlanRun.h"

#include "runtime/base/Half.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace sluice::test {

void retarget(plan::PlanT &plan, const std::string &device) {
  const bool isCuda = device == "cuda";
  plan.target->device = device;
  if (isCuda)
    plan.target->isa.clear();
  for (auto &stream : plan.streams)
    if (stream->processor == plan::Processor::device)
      stream->workspace = 0;
  for (auto &entry : plan.entries)
    forEachInstruction(*entry, [&](const plan::InstructionT &found, std::uint32_t, std::uint32_t) {
      auto &instruction = const_cast<plan::InstructionT &>(found);
      plan::LaunchT *launch = instruction.operation.AsLaunch();
      if (!launch || plan.streams[instruction.stream]->processor == plan::Processor::host)
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
      launch->workspace = workspaceCap(kernel, in, out, Attributes(std::move(attributes)),
                                       {device, static_cast<int>(plan.target->threads), plan.target->isa});
      // The library may have 32 MiB; the fake writes its complete workspace.
      if (isCuda && (kernel.starts_with("matmul") || kernel.starts_with("linear_cross_entropy")))
        launch->workspace -= (std::uint64_t(32) << 20) - 1024;
      auto &most = plan.streams[instruction.stream]->workspace;
      most = std::max<std::uint64_t>(most, launch->workspace);
    });
}

namespace {

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
    return bf16ToFloat(half);
  }
  }
}

} // namespace

void fillInputs(const plan::EntryT &entry, Executor &executor, int step) {
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
      fillInputs(entry, group.executor(rank), step);
    SLUICE_RETURN_IF_ERROR(group.runEntry(entry.name));
    for (int rank = 0; rank < group.size(); ++rank)
      for (const auto &port : entry.outputs) {
        Result<PortMemory> memory = group.executor(rank).output(entry.name, port->name);
        std::vector<std::byte> bytes(memory->bytes);
        std::memcpy(bytes.data(), memory->base, bytes.size());
        std::vector<double> values(bytes.size() / dtypeBytes(memory->dtype));
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = numberAt(bytes, memory->dtype, i);
        outcome.names.push_back(entry.name + " " + std::to_string(step) + " " + port->name + " of rank " +
                                std::to_string(rank));
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
    for (const auto &parameter : plan.parameters) {
      const DType dtype = baseType(parameter->dtype);
      std::vector<std::byte> bytes(plan.buffers[parameter->buffer]->bytes);
      SLUICE_RETURN_IF_ERROR(group.executor(rank).read(parameter->buffer, 0, bytes));
      std::vector<double> values(bytes.size() / dtypeBytes(dtype));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = numberAt(bytes, dtype, i);
      outcome.names.push_back(parameter->name + " of rank " + std::to_string(rank));
      outcome.values.push_back(std::move(values));
    }
  return {};
}

} // namespace sluice::test
