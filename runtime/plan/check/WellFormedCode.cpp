//===- WellFormedCode.cpp - P1 for instructions and their views ------------------------===//
//
// Runs after the tables are checked.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/Check.h"

#include "runtime/base/Text.h"
#include "runtime/plan/LaunchAttributes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>

namespace sluice::check {
namespace {

/// Repetitions that one predicate may list: each is simulated.
constexpr std::size_t maxListed = 64;
/// Largest number of instructions times repetitions that the checker follows, in all entry points. Llama 405B with
/// tensor parallelism and 16 micro-batches has 90,000.
constexpr std::uint64_t maxFollowed = 1 << 20;

/// Where a view is used: for messages, and for the range of its repetition stride.
struct Site {
  const plan::PlanT &plan;
  /// Entry point that the view belongs to.
  std::int32_t entry;
  std::uint32_t repeat;
  /// The port or the section; null for that instruction of the entry point.
  const std::string *name = nullptr;
  const char *kind = "";
  std::uint32_t instruction = 0;

  std::string where() const {
    return (name ? concat(kind, " '", *name, "'") : concat("instruction ", instruction)) + " of '" +
           plan.entries[entry]->name + "'";
  }
  template <typename... Parts> Verdict bad(const Parts &...parts) const {
    return refuse(1, concat(where(), ", ", parts...));
  }
};

Verdict checkValid(const Site &site, const plan::ViewT &view) {
  std::int64_t last = -1;
  for (const auto &valid : view.valid) {
    if (valid->dim >= view.shape.size() || valid->dim <= last)
      return site.bad("expected valid extents of dims of the view in ascending order but got dim ", valid->dim);
    last = valid->dim;
    if (valid->total < 0 || valid->chunk != view.shape[valid->dim])
      return site.bad("expected the valid extent of dim ", valid->dim, " in chunks of ", view.shape[valid->dim],
                      " but got chunk ", valid->chunk, " of ", valid->total);
    std::set<std::uint32_t> axes;
    for (std::uint32_t axis : valid->axes)
      if (axis >= site.plan.mesh.size() || !axes.insert(axis).second)
        return site.bad("the axes of a valid extent are not distinct axes of the mesh");
  }
  return {};
}

Verdict checkView(const Site &site, const plan::ViewT *view) {
  if (!view)
    return site.bad("missing view");
  if (view->buffer >= site.plan.buffers.size())
    return site.bad("buffer ", view->buffer, " does not exist");
  if (view->dtype > plan::DType::MAX)
    return site.bad("unknown dtype ", int(view->dtype));
  const plan::BufferT &buffer = *site.plan.buffers[view->buffer];
  if (buffer.entry != -1 && buffer.entry != site.entry)
    return site.bad("buffer '" + buffer.name + "' belongs to a different entry point");
  if (view->shape.size() > maxDims)
    return site.bad("expected at most ", maxDims, " dims but got ", view->shape.size());
  if (!view->strides.empty() && view->strides.size() != view->shape.size())
    return site.bad("expected ", view->shape.size(), " strides but got ", view->strides.size());
  const std::optional<std::uint64_t> bytes = viewBytes(*view);
  if (!bytes)
    return site.bad("its view " + formatShape(view->shape) + " of '" + buffer.name + "' is negative or overflows");
  if ((buffer.offset + view->offset) % dtypeBytes(baseType(view->dtype)) != 0 ||
      view->repetition_stride % dtypeBytes(baseType(view->dtype)) != 0)
    return site.bad("its view of '" + buffer.name + "' is not aligned to its dtype");
  const __int128 last = __int128(view->offset) + __int128(view->repetition_stride) * (site.repeat - 1) + *bytes;
  if (last > buffer.bytes)
    return site.bad("expected its view within the ", buffer.bytes, " bytes of '", buffer.name,
                    "' but it reaches beyond, from ", view->offset, " over ", *bytes, " bytes");
  return checkValid(site, *view);
}

/// The operands of a stream are in the memory of its processor; only copies access both memories.
Verdict checkSpace(const Site &site, const plan::ViewT &view, const plan::StreamT &stream, bool isCollective) {
  const plan::BufferT &buffer = *site.plan.buffers[view.buffer];
  const plan::Space space = stream.processor == plan::Processor::host ? plan::Space::host : plan::Space::device;
  if (isCollective && space == plan::Space::host)
    return site.bad("expected a collective on a stream of the device but got '" + stream.name + "'");
  if (buffer.space != space)
    return site.bad(std::string("expected operands in the memory of stream '") + stream.name + "', " +
                    plan::EnumNameSpace(space) + ", but '" + buffer.name + "' is in " +
                    plan::EnumNameSpace(buffer.space));
  return {};
}

/// The attributes are those of the kernel's record, of its kinds and values.
Verdict checkAttributes(const Site &site, const plan::LaunchT &launch, const KernelRecord &record,
                        const Attributes &attributes) {
  if (const std::string problem = formProblem(launch.attributes); !problem.empty())
    return site.bad(problem);
  if (const std::string problem = attributeProblem(record, attributes); !problem.empty())
    return site.bad("kernel '" + std::string(record.name) + "' " + problem);
  for (const auto &attribute : launch.attributes) {
    const AttributeRecord *known = std::ranges::find(record.attributes, attribute->name, &AttributeRecord::name);
    if (const std::string_view given = kindText(storedKinds[attribute->kind]); given != kindText(known->kind))
      return site.bad("kernel '" + std::string(record.name) + "' attribute '" + attribute->name + "', expected " +
                      std::string(kindText(known->kind)) + " but got " + std::string(given));
  }
  return {};
}

Operand operandOf(const plan::ViewT &view) {
  Operand operand;
  operand.dtype = baseType(view.dtype);
  operand.rank = int(view.shape.size());
  std::int64_t dense = 1;
  for (std::size_t d = view.shape.size(); d-- > 0;) {
    operand.shape[d] = operand.extent[d] = operand.global[d] = view.shape[d];
    operand.strides[d] = view.strides.empty() ? dense : view.strides[d];
    dense *= view.shape[d];
  }
  return operand;
}

/// A kernel with less workspace than it needs would write beyond it.
Verdict checkWorkspace(const Site &site, const plan::LaunchT &launch, const Attributes &attributes,
                       const plan::StreamT &stream) {
  if (launch.workspace > stream.workspace)
    return site.bad("expected at most the ", stream.workspace, " bytes of workspace of stream '", stream.name,
                    "' but got ", launch.workspace);
  std::vector<Operand> inputs, outputs;
  inputs.reserve(launch.inputs.size());
  outputs.reserve(launch.outputs.size());
  for (const auto *views : {&launch.inputs, &launch.outputs})
    for (const auto &view : *views) {
      // Kernels have nothing to compute, and the extents may be of any size.
      if (*elementCount(view->shape) == 0)
        return {};
      (views == &launch.inputs ? inputs : outputs).push_back(operandOf(*view));
    }
  const plan::TargetT &target = *site.plan.target;
  const bool isHost = stream.processor == plan::Processor::host;
  const std::uint64_t cap = workspaceCap(site.plan.kernels[launch.kernel], inputs, outputs, attributes,
                                         {isHost ? "cpu" : target.device, int(target.threads), target.isa});
  if (launch.workspace < cap)
    return site.bad("kernel '", site.plan.kernels[launch.kernel], "', expected at least ", cap,
                    " bytes of workspace but got ", launch.workspace);
  return {};
}

Verdict checkLaunch(const Site &site, const plan::LaunchT &launch, const plan::StreamT &stream) {
  if (launch.kernel >= site.plan.kernels.size())
    return site.bad("kernel ", launch.kernel, " does not exist");
  const std::string &name = site.plan.kernels[launch.kernel];
  const KernelRecord *record = findKernelRecord(name);
  if (!record)
    return site.bad("kernel '" + name + "' is not in the catalogue");
  const Attributes attributes = attributesOf(launch);
  SLUICE_CHECK(checkAttributes(site, launch, *record, attributes));
  const OperandCounts counts = expectedOperands(*record, attributes, launch.inputs.size(), launch.outputs.size());
  if (counts.isAtLeast ? launch.inputs.size() < counts.inputs : launch.inputs.size() != counts.inputs)
    return site.bad("kernel '", name, "', expected ", (counts.isAtLeast ? "at least " : ""), counts.inputs,
                    " inputs but got ", launch.inputs.size());
  if (launch.outputs.size() != counts.outputs)
    return site.bad("kernel '", name, "', expected ", counts.outputs, " outputs but got ", launch.outputs.size());
  if ((!launch.input_values.empty() && launch.input_values.size() != launch.inputs.size()) ||
      (!launch.output_values.empty() && launch.output_values.size() != launch.outputs.size()))
    return site.bad("expected a value id for each operand");
  const std::size_t values = site.plan.program ? site.plan.program->values.size() : 0;
  for (const auto *ids : {&launch.input_values, &launch.output_values})
    for (std::uint32_t id : *ids)
      if (id > values)
        return site.bad("value ", id, " does not exist");
  for (const auto *views : {&launch.inputs, &launch.outputs})
    for (const auto &view : *views) {
      SLUICE_CHECK(checkView(site, view.get()));
      SLUICE_CHECK(checkSpace(site, *view, stream, false));
    }
  return checkWorkspace(site, launch, attributes, stream);
}

Verdict checkCollective(const Site &site, const plan::CollectiveT &collective, const plan::StreamT &stream) {
  if (collective.kind > plan::CollectiveKind::MAX || collective.op > plan::ReduceOp::MAX ||
      collective.dtype > plan::DType::MAX)
    return site.bad("unknown kind, reduction or dtype of a collective");
  if (collective.kind > plan::CollectiveKind::all_to_all)
    return site.bad(std::string("collective kind ") + plan::EnumNameCollectiveKind(collective.kind) +
                    " is reserved and has no meaning in this version");
  if (!std::isfinite(collective.scale) || (collective.op != plan::ReduceOp::premul_sum && collective.scale != 1))
    return site.bad("expected a finite scale, and 1 without premul_sum");
  if (collective.segments.empty())
    return site.bad("expected at least one segment");
  for (const auto &segment : collective.segments) {
    for (const plan::ViewT *view : {segment->source.get(), segment->destination.get()}) {
      SLUICE_CHECK(checkView(site, view));
      SLUICE_CHECK(checkSpace(site, *view, stream, true));
    }
  }
  return {};
}

Verdict checkOperation(const Site &site, const plan::InstructionT &instruction, const plan::EntryT &entry) {
  const plan::OperationUnion &operation = instruction.operation;
  if (!operation.value)
    return site.bad("expected a known operation but got type ", int(operation.type));
  switch (operation.type) {
  case plan::Operation::Launch:
    return checkLaunch(site, *operation.AsLaunch(), *site.plan.streams[instruction.stream]);
  case plan::Operation::Collective:
    return checkCollective(site, *operation.AsCollective(), *site.plan.streams[instruction.stream]);
  case plan::Operation::Copy: {
    const plan::CopyT &copy = *operation.AsCopy();
    SLUICE_CHECK(checkView(site, copy.source.get()));
    SLUICE_CHECK(checkView(site, copy.destination.get()));
    if (copy.source->dtype != copy.destination->dtype || copy.source->shape != copy.destination->shape)
      return site.bad("expected source and destination of a copy to have one shape and dtype");
    return {};
  }
  case plan::Operation::Fill:
    SLUICE_CHECK(checkView(site, operation.AsFill()->destination.get()));
    return checkSpace(site, *operation.AsFill()->destination, *site.plan.streams[instruction.stream], false);
  case plan::Operation::Record:
  case plan::Operation::Wait: {
    const std::uint32_t event =
        operation.type == plan::Operation::Record ? operation.AsRecord()->event : operation.AsWait()->event;
    if (event >= entry.events)
      return site.bad("event ", event, " does not exist");
    return {};
  }
  case plan::Operation::Release:
    if (std::set<std::uint32_t>(operation.AsRelease()->buffers.begin(), operation.AsRelease()->buffers.end()).size() !=
        std::max<std::size_t>(operation.AsRelease()->buffers.size(), 1))
      return site.bad("expected a release of buffers, each once");
    for (std::uint32_t buffer : operation.AsRelease()->buffers) {
      if (buffer >= site.plan.buffers.size())
        return site.bad("buffer ", buffer, " does not exist");
      if (site.plan.buffers[buffer]->entry != site.entry)
        return site.bad("buffer '" + site.plan.buffers[buffer]->name + "' belongs to a different entry point");
    }
    return {};
  default:
    return site.bad("unknown operation");
  }
}

Verdict checkInstruction(const Site &site, const plan::InstructionT &instruction, const plan::EntryT &entry) {
  if (instruction.stream >= site.plan.streams.size())
    return site.bad("stream ", instruction.stream, " does not exist");
  if (instruction.when > plan::When::MAX || instruction.phase > plan::Phase::MAX)
    return site.bad("unknown predicate or phase");
  if (instruction.repetitions.size() > maxListed)
    return site.bad("expected a predicate that lists at most ", maxListed, " repetitions but got ",
                    instruction.repetitions.size());
  const bool isListed = instruction.when == plan::When::listed;
  if (isListed == instruction.repetitions.empty() ||
      std::ranges::adjacent_find(instruction.repetitions, std::greater_equal()) != instruction.repetitions.end())
    return site.bad(isListed ? "expected a list of repetitions in ascending order"
                             : "lists repetitions, but its predicate has no list");
  if (site.repeat == 1 && instruction.when != plan::When::all)
    return site.bad("expected no predicate in a section of one repetition");
  if (isListed && instruction.repetitions.back() >= site.repeat)
    return site.bad("repetition ", instruction.repetitions.back(), " does not exist");
  if (instruction.unit < -1 || instruction.unit >= std::int64_t(site.plan.units.size()))
    return site.bad("unit ", instruction.unit, " does not exist");
  if (instruction.location < -1 || instruction.location >= std::int64_t(site.plan.locations.size()))
    return site.bad("location ", instruction.location, " does not exist");
  return checkOperation(site, instruction, entry);
}

/// The host accesses the bytes of a port at any time of a step: its buffer has no other bytes and no other port, and is
/// live in the whole step.
Verdict checkPort(const plan::PlanT &plan, std::int32_t e, const plan::PortT &port) {
  const plan::EntryT &entry = *plan.entries[e];
  Site site{plan, e, 1, &port.name, "port"};
  if (port.per_repetition) {
    if (entry.sections.empty())
      return site.bad("no section repeats");
    site.repeat = entry.sections[0]->repeat;
  }
  SLUICE_CHECK(checkView(site, port.view.get()));
  const plan::BufferT &buffer = *plan.buffers[port.view->buffer];
  if (buffer.space != plan::Space::host)
    return site.bad("expected a buffer in host memory but '" + buffer.name + "' is in " +
                    plan::EnumNameSpace(buffer.space));
  if (buffer.entry == -1 || buffer.begin != 0 || buffer.end != instructionCount(entry))
    return site.bad("expected a buffer that is live in the whole step, and only in it, but '" + buffer.name +
                    "' is not");
  if (!isDense(*port.view) || !port.view->valid.empty())
    return site.bad("expected a dense view without valid extents");
  const std::uint64_t bytes = *viewBytes(*port.view);
  if (const std::uint64_t distance = port.per_repetition ? bytes : 0; port.view->repetition_stride != distance)
    return site.bad("expected slices at a distance of ", distance, " bytes but got ", port.view->repetition_stride);
  if (port.view->offset != 0 || bytes * site.repeat != buffer.bytes)
    return site.bad("expected all bytes of buffer '" + buffer.name + "'");
  const std::uint64_t values = port.role == plan::PortRole::constant ? bytes : 0;
  if (port.values.size() != values)
    return site.bad("expected ", values, " bytes of values but got ", port.values.size());
  return {};
}

/// All ports of an entry point. What the host writes no instruction writes.
Verdict checkPorts(const plan::PlanT &plan, std::int32_t e) {
  const plan::EntryT &entry = *plan.entries[e];
  std::set<std::uint32_t> inputs, all;
  for (const auto *ports : {&entry.inputs, &entry.outputs})
    for (const auto &port : *ports) {
      SLUICE_CHECK(checkPort(plan, e, *port));
      if (!all.insert(port->view->buffer).second)
        return Site{plan, e, 1, &port->name, "port"}.bad("its buffer '", plan.buffers[port->view->buffer]->name,
                                                         "' is that of another port");
      if (ports == &entry.inputs)
        inputs.insert(port->view->buffer);
    }
  Verdict verdict;
  forEachInstruction(entry, [&](const plan::InstructionT &instruction, std::uint32_t i, std::uint32_t) {
    forEachView(instruction, [&](const plan::ViewT &view, bool isWrite) {
      if (!verdict && isWrite && inputs.contains(view.buffer))
        verdict = Site{plan, e, 1, nullptr, "", i}.bad("writes the input '", plan.buffers[view.buffer]->name,
                                                       "', which only the host writes");
    });
  });
  return verdict;
}

} // namespace

Verdict wellFormedCode(const plan::PlanT &plan, Findings &findings) {
  std::uint64_t followed = 0;
  for (std::size_t e = 0; e < plan.entries.size(); ++e) {
    const plan::EntryT &entry = *plan.entries[e];
    std::uint32_t i = 0;
    for (const auto &section : entry.sections) {
      for (const auto &instruction : section->instructions) {
        SLUICE_CHECK(
            checkInstruction(Site{plan, std::int32_t(e), section->repeat, nullptr, "", i++}, *instruction, entry));
        ++findings[1].facts;
        forEachView(*instruction, [&](const plan::ViewT &, bool) { ++findings[1].facts; });
      }
      followed += sampleRepetitions(*section).size() * section->instructions.size();
      if (followed > maxFollowed)
        return Site{plan, std::int32_t(e), section->repeat, &section->name, "section"}.bad(
            "expected lists of repetitions that make at most ", maxFollowed, " instructions to follow but got ",
            followed);
    }
    findings[1].facts += entry.inputs.size() + entry.outputs.size();
    SLUICE_CHECK(checkPorts(plan, std::int32_t(e)));
  }
  return {};
}

} // namespace sluice::check
