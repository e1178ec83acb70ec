//===- ProcessMemory.cpp - what a process that runs a plan grows by ----------------------===//
#include "runtime/plan/ProcessMemory.h"

#include <algorithm>

namespace sluice {
namespace {

// Fitted constants, in bytes. Each is what it names, on x86-64 with glibc 2.36, libstdc++ 12, oneDNN 2.6.3.

/// Code and tables of the tool, of oneDNN and of the C++ library that a run touches, the library's generated kernels,
/// the trainer's own buffers.
constexpr std::uint64_t runtimeBytes = 8960 << 10;
/// A thread's touched stack, its ring of commands, its allocator arena.
constexpr std::uint64_t threadBytes = 56 << 10;
/// A command with its bound kernel, and what an operand adds.
constexpr std::uint64_t commandBytes = 512;
constexpr std::uint64_t operandBytes = 344;
/// A matrix product of the library: descriptors, memory objects.
constexpr std::uint64_t productBytes = 4 << 10;
/// Tables in memory: a buffer, an instruction, a view.
constexpr std::uint64_t bufferTableBytes = 256;
constexpr std::uint64_t instructionTableBytes = 512;
constexpr std::uint64_t viewTableBytes = 224;

constexpr std::uint64_t pageBytes = 4096;
constexpr std::uint64_t roundUp(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

/// What a plan holds that costs memory beside the arenas.
struct Counts {
  std::uint64_t instructions = 0;
  std::uint64_t commands = 0;
  std::uint64_t operands = 0;
  std::uint64_t products = 0;
  /// Most that one product packs.
  std::uint64_t packing = 0;
};

/// oneDNN's f32 product copies blocks of its operands into memory that it allocates for the call: of the operand with
/// the columns of the result up to 10,000 of them, of the other 384 rows, both over a block of the inner dim.
std::uint64_t packedBytes(const plan::PlanT &plan, const plan::LaunchT &launch) {
  const plan::ViewT &a = *launch.inputs[0], &c = *launch.outputs[0];
  if (a.shape.empty() || c.shape.size() < 2 || a.dtype == plan::DType::f64)
    return 0;
  const bool avx512 = plan.target && plan.target->isa == "avx512";
  if (avx512 && a.dtype == plan::DType::bf16)
    return 0;
  const std::uint64_t unit = avx512 ? 48 : 24, mostInner = avx512 ? 384 : 192, mostRows = 384, mostColumns = 10000;
  const std::uint64_t most = a.dtype == plan::DType::bf16 ? 512 : mostColumns;
  const std::uint64_t columns = roundUp(std::min<std::uint64_t>(c.shape.back(), most), unit);
  const std::uint64_t threads = plan.target ? std::max(plan.target->threads, 1u) : 1;
  return 4 * mostInner * (columns + threads * mostRows);
}

bool isProduct(std::string_view kernel) {
  return kernel == "matmul" || kernel == "matmul_gelu" || kernel == "matmul_gelu_grad";
}

Counts count(const plan::PlanT &plan) {
  Counts counts;
  for (const auto &entry : plan.entries)
    forEachInstruction(*entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
      ++counts.instructions;
      const plan::OperationUnion &operation = instruction.operation;
      if (operation.type != plan::Operation::Record && operation.type != plan::Operation::Wait)
        ++counts.commands;
      if (const plan::CollectiveT *collective = operation.AsCollective())
        counts.operands += 2 * collective->segments.size();
      else if (operation.type == plan::Operation::Copy)
        counts.operands += 2;
      else if (operation.type == plan::Operation::Fill)
        ++counts.operands;
      const plan::LaunchT *launch = operation.AsLaunch();
      if (!launch)
        return;
      counts.operands += launch->inputs.size() + launch->outputs.size();
      if (launch->kernel < plan.kernels.size() && isProduct(plan.kernels[launch->kernel]) &&
          launch->inputs.size() >= 2 && !launch->outputs.empty()) {
        ++counts.products;
        counts.packing = std::max(counts.packing, packedBytes(plan, *launch));
      }
    });
  return counts;
}

} // namespace

std::vector<ProcessTerm> processTerms(const plan::PlanT &plan, std::uint64_t ranks) {
  const Counts counts = count(plan);
  std::uint64_t mapped = 0;
  for (const auto &arena : plan.arenas)
    mapped += roundUp(arena->bytes, pageBytes);
  for (const auto &stream : plan.streams)
    mapped += roundUp(stream->workspace, pageBytes);
  return {
      {"arenas", "every rank's arenas and workspace, to the byte, in whole pages", ranks * mapped},
      {"commands", "every rank's bound instructions and matrix products",
       ranks * (counts.commands * commandBytes + counts.operands * operandBytes + counts.products * productBytes)},
      {"threads", "stacks, rings of commands", ranks * (plan.streams.size() + 1) * threadBytes},
      {"packing", "every rank's largest matrix product, packed by the library", ranks * counts.packing},
      {"plan", "the plan's tables",
       plan.buffers.size() * bufferTableBytes + counts.instructions * instructionTableBytes +
           counts.operands * viewTableBytes},
      {"runtime", "code of the runtime and its libraries", runtimeBytes},
  };
}

std::vector<ProcessTerm> processTerms(const plan::PlanT &plan) { return processTerms(plan, meshSize(plan)); }

std::uint64_t predictedProcess(const plan::PlanT &plan, std::uint64_t ranks) {
  std::uint64_t bytes = 0;
  for (const ProcessTerm &term : processTerms(plan, ranks))
    bytes += term.bytes;
  return bytes;
}

std::uint64_t predictedProcess(const plan::PlanT &plan) { return predictedProcess(plan, meshSize(plan)); }

} // namespace sluice
