//===- ProcessMemory.cpp - the predicted memory of a process that runs a plan ------===//
#include "runtime/plan/ProcessMemory.h"

#include "runtime/kernel/catalogue/Catalogue.h"
#include "runtime/plan/CheckpointMemory.h"

#include <algorithm>

namespace sluice {
namespace {

// Fitted constants, in bytes, measured on x86-64 with glibc 2.36, libstdc++ 12, oneDNN 2.6.3; the code that the library
// generates depends on the plan's instruction set.

/// Code and tables of the tool, of oneDNN and of the C++ library that a run touches, kernels that the library generates
/// for shapes, the trainer's own buffers.
constexpr std::uint64_t runtimeBytes = 6048 << 10;
/// Kernels that the library generates at the first product that packs, for all layouts.
constexpr std::uint64_t packingCodeBytes(bool avx512, plan::DType dtype) {
  return (!avx512 ? 3360 : dtype == plan::DType::bf16 ? 4480 : 5600) << 10;
}
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

/// Counts of everything in a plan that costs memory in addition to the arenas.
struct Counts {
  std::uint64_t instructions = 0;
  std::uint64_t commands = 0;
  std::uint64_t operands = 0;
  std::uint64_t products = 0;
  /// Most that one product packs, and the code of those that do.
  std::uint64_t packing = 0;
  std::uint64_t packingCode = 0;
};

bool isForAvx512(const plan::PlanT &plan) { return plan.target && plan.target->isa == "avx512"; }

/// True if rows of the last two dims, or columns, have gaps, a layout that the library does not have.
bool hasGaps(const plan::ViewT &view) {
  const std::size_t rank = view.shape.size();
  if (view.strides.size() < rank || rank < 2)
    return false;
  const std::int64_t rows = view.shape[rank - 2], columns = view.shape[rank - 1];
  const std::int64_t down = view.strides[rank - 2], along = view.strides[rank - 1];
  return (along == 1 && rows > 1 && down > columns) || (down == 1 && columns > 1 && along > rows);
}

/// True if elements repeat along one of the last two dims.
bool repeats(const plan::ViewT &view) {
  const std::size_t rank = view.shape.size();
  if (view.strides.size() < rank || rank < 2)
    return false;
  return (view.strides[rank - 2] == 0 && view.shape[rank - 2] > 1) ||
         (view.strides[rank - 1] == 0 && view.shape[rank - 1] > 1);
}

/// True if the kernel copies operands to panels, which have gaps.
bool hasPanels(const plan::LaunchT &launch) {
  const plan::ViewT &a = *launch.inputs[0], &b = *launch.inputs[1];
  return a.dtype == plan::DType::bf16 || a.dtype == plan::DType::f16 || repeats(a) || repeats(b);
}

/// With AVX-512 the library multiplies matrices of f32 without gaps in the declared workspace. Of bf16 it copies blocks
/// if the processor has AVX-512 but no instructions for bf16, which the plan does not say.
bool packs(const plan::LaunchT &launch, bool avx512) {
  const plan::ViewT &a = *launch.inputs[0], &b = *launch.inputs[1], &c = *launch.outputs[0];
  if (a.shape.empty() || c.shape.size() < 2 || a.dtype == plan::DType::f64)
    return false;
  return !avx512 || hasPanels(launch) || hasGaps(a) || hasGaps(b) || hasGaps(c);
}

/// oneDNN's f32 product copies blocks of its operands into memory that it allocates for the call: of the operand with
/// the columns of the result up to 10,000 of them, of the other 384 rows, both over a block of the inner dim. Panels
/// have at most 512 columns.
std::uint64_t packedBytes(const plan::LaunchT &launch, bool avx512, std::uint64_t threads) {
  const std::uint64_t unit = avx512 ? 48 : 24, mostInner = avx512 ? 384 : 192, mostRows = 384, mostColumns = 10000;
  const std::uint64_t columns =
      roundUp(std::min<std::uint64_t>(launch.outputs[0]->shape.back(), hasPanels(launch) ? 512 : mostColumns), unit);
  return 4 * mostInner * (columns + threads * mostRows);
}

bool isProduct(std::string_view kernel) {
  const KernelRecord *record = findKernelRecord(kernel);
  return record && record->work == KernelWork::product;
}

Counts count(const plan::PlanT &plan) {
  Counts counts;
  const bool avx512 = isForAvx512(plan);
  const std::uint64_t threads = plan.target ? std::max(plan.target->threads, 1u) : 1;
  for (const auto &entry : plan.entries)
    forEachInstruction(*entry, [&](const plan::InstructionT &instruction, std::uint32_t, std::uint32_t) {
      ++counts.instructions;
      const plan::OperationUnion &operation = instruction.operation;
      if (operation.type != plan::Operation::Record && operation.type != plan::Operation::Wait)
        ++counts.commands;
      forEachView(instruction, [&](const plan::ViewT &, bool) { ++counts.operands; });
      const plan::LaunchT *launch = operation.AsLaunch();
      if (!launch)
        return;
      if (launch->kernel < plan.kernels.size() && isProduct(plan.kernels[launch->kernel]) &&
          launch->inputs.size() >= 2 && !launch->outputs.empty()) {
        ++counts.products;
        if (packs(*launch, avx512)) {
          counts.packing = std::max(counts.packing, packedBytes(*launch, avx512, threads));
          counts.packingCode = std::max(counts.packingCode, packingCodeBytes(avx512, launch->inputs[0]->dtype));
        }
      }
    });
  return counts;
}

} // namespace

std::vector<ProcessTerm> processTerms(const plan::PlanT &plan, std::uint64_t ranks, bool writesCheckpoints) {
  if (plan.target && plan.target->device != "cpu")
    return {};
  const Counts counts = count(plan);
  std::uint64_t mapped = 0;
  for (const auto &arena : plan.arenas)
    mapped += roundUp(arena->bytes, pageBytes);
  for (const auto &stream : plan.streams)
    mapped += roundUp(stream->workspace, pageBytes);
  std::vector<ProcessTerm> terms = {
      {"arenas", "every rank's arenas and workspace, to the byte, rounded up to pages", ranks * mapped},
      {"commands", "every rank's bound instructions and matrix products",
       ranks * (counts.commands * commandBytes + counts.operands * operandBytes + counts.products * productBytes)},
      {"threads", "stacks, rings of commands", ranks * (plan.streams.size() + 1) * threadBytes},
      {"packing", "every rank's largest matrix product, packed by the library", ranks * counts.packing},
      {"plan", "the plan's tables",
       plan.buffers.size() * bufferTableBytes + counts.instructions * instructionTableBytes +
           counts.operands * viewTableBytes},
      {"runtime", "code of the runtime and its libraries", runtimeBytes + counts.packingCode},
  };
  if (writesCheckpoints)
    terms.push_back({"checkpoint", "each rank's copy of the tensors that it writes, and its write block",
                     checkpointPages(plan, ranks, pageBytes)});
  return terms;
}

std::optional<std::uint64_t> predictedProcess(const plan::PlanT &plan, std::uint64_t ranks, bool writesCheckpoints) {
  const std::vector<ProcessTerm> terms = processTerms(plan, ranks, writesCheckpoints);
  if (terms.empty())
    return std::nullopt;
  std::uint64_t bytes = 0;
  for (const ProcessTerm &term : terms)
    bytes += term.bytes;
  return bytes;
}

std::optional<std::uint64_t> predictedProcess(const plan::PlanT &plan) {
  return predictedProcess(plan, meshSize(plan));
}

} // namespace sluice
