//===- Operands.cpp - P2 for the operands of one instruction ------------------------------===//
//
// Every access is within the lifespan of its buffer. A write overlaps no other operand of its instruction, except an
// input that the kernel's record lets the output replace, or that it updates in place; or the source of the same
// segment of an all_reduce or a broadcast. The operands are swept in order of their bytes.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"

#include "runtime/base/Text.h"
#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>
#include <set>

namespace sluice::check {
namespace {

/// Pairs of strided operands of one instruction that interleave, at most for each operand.
constexpr std::size_t maxInterleaved = 64;

struct OperandView {
  const plan::ViewT *view = nullptr;
  bool isWrite = false;
  /// Position among the inputs, the outputs, or the segments.
  std::uint32_t index = 0;
  plan::Space space = plan::Space::device;
  /// Absolute bytes, of all repetitions.
  std::uint64_t begin = 0, end = 0;
};

std::uint64_t absolute(const plan::PlanT &plan, const plan::ViewT &view) {
  return plan.buffers[view.buffer]->offset + view.offset;
}

/// The same elements at the same offset.
bool samePlace(const plan::PlanT &plan, const plan::ViewT &a, const plan::ViewT &b) {
  return plan.buffers[a.buffer]->space == plan.buffers[b.buffer]->space && absolute(plan, a) == absolute(plan, b) &&
         a.dtype == b.dtype && *viewBytes(a) == *viewBytes(b) && a.repetition_stride == b.repetition_stride &&
         isDense(a) == isDense(b) && (isDense(a) || (a.shape == b.shape && a.strides == b.strides));
}

/// Pairs of a read and a write by their indices.
struct InPlace {
  /// Sorted.
  AliasPairs allowed;
  AliasPairs required;
};

InPlace inPlaceOf(const plan::PlanT &plan, const plan::InstructionT &instruction) {
  InPlace pairs;
  if (const plan::LaunchT *launch = instruction.operation.AsLaunch()) {
    const KernelRecord &record = *findKernelRecord(plan.kernels[launch->kernel]);
    const Attributes attributes = attributesOf(*launch);
    pairs.allowed = mayAliasPairs(record, attributes, launch->inputs.size(), launch->outputs.size());
    pairs.required = mustAliasPairs(record, attributes, launch->inputs.size(), launch->outputs.size());
    pairs.allowed.insert(pairs.allowed.end(), pairs.required.begin(), pairs.required.end());
  } else if (const plan::CollectiveT *collective = instruction.operation.AsCollective()) {
    if (collective->kind == plan::CollectiveKind::all_reduce || collective->kind == plan::CollectiveKind::broadcast)
      for (unsigned s = 0; s < collective->segments.size(); ++s)
        pairs.allowed.push_back({s, s});
  }
  std::sort(pairs.allowed.begin(), pairs.allowed.end());
  return pairs;
}

class InstructionOperands {
public:
  InstructionOperands(const plan::PlanT &plan, std::uint32_t e, std::uint32_t i, std::uint32_t repeat,
                      const plan::InstructionT &instruction)
      : plan(plan), e(e), i(i), instruction(instruction) {
    std::uint32_t counts[2] = {0, 0};
    forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
      const std::uint64_t begin = absolute(plan, view);
      operands.push_back({&view, isWrite, counts[isWrite]++, plan.buffers[view.buffer]->space, begin,
                          begin + *viewBytes(view) + view.repetition_stride * (repeat - 1)});
    });
  }

  Verdict run(Finding &finding) {
    finding.facts += operands.size();
    for (const OperandView &operand : operands) {
      const plan::BufferT &buffer = *plan.buffers[operand.view->buffer];
      if (buffer.entry != -1 && (i < buffer.begin || i >= buffer.end))
        return refuse(2, concat(place(plan, e, i), " uses buffer '", buffer.name, "' outside its lifespan [",
                                buffer.begin, ", ", buffer.end, ")"));
    }
    SLUICE_CHECK(checkRequired());
    return checkOverlaps();
  }

private:
  Verdict checkRequired() const {
    const plan::LaunchT *launch = instruction.operation.AsLaunch();
    if (!launch || findKernelRecord(plan.kernels[launch->kernel])->mustAlias.empty())
      return {};
    for (auto [input, output] : inPlaceOf(plan, instruction).required)
      if (!samePlace(plan, *launch->inputs[input], *launch->outputs[output]))
        return refuse(2, concat(place(plan, e, i), " updates input ", input, " in place, expected output ", output,
                                " at its bytes of buffer '", plan.buffers[launch->inputs[input]->buffer]->name,
                                "' but got buffer '", plan.buffers[launch->outputs[output]->buffer]->name, "'"));
    return {};
  }

  Verdict checkOverlaps() {
    std::erase_if(operands, [](const OperandView &operand) { return *viewBytes(*operand.view) == 0; });
    std::sort(operands.begin(), operands.end(), [](const OperandView &a, const OperandView &b) {
      return std::tie(a.space, a.begin) < std::tie(b.space, b.begin);
    });
    // Those that reach beyond the current begin, by end; reads and writes.
    std::set<std::pair<std::uint64_t, std::uint32_t>> open[2];
    std::size_t interleaved = 0;
    for (std::uint32_t k = 0; k < operands.size(); ++k) {
      const OperandView &operand = operands[k];
      for (auto &kind : open) {
        if (k > 0 && operands[k - 1].space != operand.space)
          kind.clear();
        kind.erase(kind.begin(), kind.lower_bound({operand.begin + 1, 0}));
      }
      for (bool isWrite : {false, true})
        for (auto [end, other] : open[isWrite]) {
          if (!operand.isWrite && !isWrite)
            break;
          if (++interleaved > maxInterleaved * operands.size())
            return refuse(2, concat(place(plan, e, i), " has more than ", maxInterleaved * operands.size(),
                                    " pairs of operands whose ranges overlap"));
          SLUICE_CHECK(operand.isWrite ? checkPair(operand, operands[other]) : checkPair(operands[other], operand));
        }
      open[operand.isWrite].insert({operand.end, k});
    }
    return {};
  }

  Verdict checkPair(const OperandView &write, const OperandView &other) {
    const plan::ViewT &a = *write.view, &b = *other.view;
    // Views that move by different distances may meet in a later repetition.
    if (a.repetition_stride == b.repetition_stride && viewsDisjoint(a, absolute(plan, a), b, absolute(plan, b)))
      return {};
    const bool isInPlace = !other.isWrite && samePlace(plan, a, b);
    if (isInPlace) {
      // Few instructions have operands that share bytes.
      if (!pairs)
        pairs = inPlaceOf(plan, instruction);
      if (std::binary_search(pairs->allowed.begin(), pairs->allowed.end(), std::pair(other.index, write.index)))
        return {};
    }
    const std::string writes = place(plan, e, i) + " writes buffer '" + plan.buffers[a.buffer]->name +
                               "' over bytes of buffer '" + plan.buffers[b.buffer]->name + "', ";
    const std::string shared =
        byteRange(write.space, std::max(write.begin, other.begin), std::min(write.end, other.end));
    if (!isInPlace)
      return refuse(2, writes + (other.isWrite ? "an output" : "an input") + " of the same instruction", {shared});
    return refuse(2, concat(writes, "and it cannot compute output ", write.index, " in place of input ", other.index),
                  {shared});
  }

  const plan::PlanT &plan;
  const std::uint32_t e, i;
  const plan::InstructionT &instruction;
  std::optional<InPlace> pairs;
  std::vector<OperandView> operands;
};

} // namespace

std::set<std::pair<std::uint32_t, std::uint32_t>> replacedBuffers(const plan::PlanT &plan,
                                                                  const plan::InstructionT &instruction) {
  std::vector<const plan::ViewT *> reads, writes;
  forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) { (isWrite ? writes : reads).push_back(&view); });
  std::set<std::pair<std::uint32_t, std::uint32_t>> replaced;
  for (auto [read, write] : inPlaceOf(plan, instruction).allowed)
    if (samePlace(plan, *reads[read], *writes[write]))
      replaced.insert({reads[read]->buffer, writes[write]->buffer});
  return replaced;
}

Verdict operandsDisjoint(const plan::PlanT &plan, Findings &findings) {
  for (std::uint32_t e = 0; e < plan.entries.size(); ++e) {
    std::uint32_t i = 0;
    for (const auto &section : plan.entries[e]->sections)
      for (const auto &instruction : section->instructions)
        SLUICE_CHECK(InstructionOperands(plan, e, i++, section->repeat, *instruction).run(findings[2]));
  }
  return {};
}

} // namespace sluice::check
