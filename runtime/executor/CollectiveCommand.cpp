//===- CollectiveCommand.cpp - a coalesced collective as a command ---------------===//
//
// Collectives transfer complete chunks, padding included, so their views are dense. The count is that of the smaller
// view, and for all_to_all that of one of its chunks.
//
//===----------------------------------------------------------------------===//
#include "runtime/executor/Commands.h"

namespace sluice {
namespace {

class CollectiveCommand final : public InstructionCommand {
public:
  CollectiveCommand(RankContext &context, const InstructionPlace &place, const plan::CollectiveT &collective,
                    Communicator &communicator)
      : InstructionCommand(context, place), collective(collective), communicator(communicator),
        dtype(baseType(collective.dtype)), op(static_cast<Reduction>(collective.op)) {
    label.instruction = place.index;
    const std::int32_t unit = place.instruction->unit;
    label.what = unit >= 0 && static_cast<std::size_t>(unit) < context.plan.units.size()
                     ? std::string_view(context.plan.units[unit]->name)
                     : std::string_view("no unit");
  }

  Status bind(const Binder &binder) {
    const auto members = static_cast<std::uint64_t>(communicator.size());
    const bool gathers = collective.kind == plan::CollectiveKind::all_gather;
    const bool scatters = collective.kind == plan::CollectiveKind::reduce_scatter;
    const bool exchanges = collective.kind == plan::CollectiveKind::all_to_all;
    for (const auto &segment : collective.segments) {
      SLUICE_ASSIGN_OR_RETURN(BoundView source, binder.bind(*segment->source, place.repeat));
      SLUICE_ASSIGN_OR_RETURN(BoundView destination, binder.bind(*segment->destination, place.repeat));
      if (!isDense(*segment->source) || !isDense(*segment->destination))
        return refusedError("views of a collective, expected dense ones but got strides");
      if (source.operand.dtype != dtype || destination.operand.dtype != dtype)
        return refusedError("views of a collective, expected " + std::string(dtypeName(dtype)) + " but got " +
                            std::string(dtypeName(source.operand.dtype)) + " and " +
                            std::string(dtypeName(destination.operand.dtype)));
      const std::uint64_t given = elementCount(segment->source->shape).value_or(0);
      const std::uint64_t got = elementCount(segment->destination->shape).value_or(0);
      if (given * (gathers ? members : 1) != got * (scatters ? members : 1) || (exchanges && given % members != 0))
        return refusedError("segment of a collective of " + std::to_string(members) +
                            " ranks, expected sizes that match but got " + std::to_string(given) + " and " +
                            std::to_string(got) + " elements");
      moves = moves || source.stride != 0 || destination.stride != 0;
      sources.push_back(source);
      destinations.push_back(destination);
      pointers.push_back(
          {source.operand.data, destination.operand.data, exchanges ? given / members : std::min(given, got)});
    }
    return {};
  }

  Status perform(void *nativeStream, std::uint32_t repetition) override {
    if (moves)
      for (std::size_t s = 0; s < pointers.size(); ++s) {
        pointers[s].source = sources[s].at(repetition);
        pointers[s].destination = destinations[s].at(repetition);
      }
    const auto kind = static_cast<CallKind>(collective.kind);
    return communicator.run({kind, dtype, op, collective.scale, /*root=*/0, pointers, label}, nativeStream);
  }

private:
  const plan::CollectiveT &collective;
  Communicator &communicator;
  const DType dtype;
  const Reduction op;
  CallLabel label;
  std::vector<BoundView> sources;
  std::vector<BoundView> destinations;
  std::vector<SegmentPointers> pointers;
  bool moves = false;
};

} // namespace

static_assert(static_cast<int>(plan::CollectiveKind::all_gather) == static_cast<int>(CallKind::allGather) &&
              static_cast<int>(plan::CollectiveKind::reduce_scatter) == static_cast<int>(CallKind::reduceScatter) &&
              static_cast<int>(plan::CollectiveKind::all_reduce) == static_cast<int>(CallKind::allReduce) &&
              static_cast<int>(plan::CollectiveKind::broadcast) == static_cast<int>(CallKind::broadcast) &&
              static_cast<int>(plan::CollectiveKind::all_to_all) == static_cast<int>(CallKind::allToAll));
static_assert(static_cast<int>(plan::ReduceOp::none) == static_cast<int>(Reduction::none) &&
              static_cast<int>(plan::ReduceOp::sum) == static_cast<int>(Reduction::sum) &&
              static_cast<int>(plan::ReduceOp::mean) == static_cast<int>(Reduction::mean) &&
              static_cast<int>(plan::ReduceOp::premul_sum) == static_cast<int>(Reduction::premulSum) &&
              static_cast<int>(plan::ReduceOp::max) == static_cast<int>(Reduction::max));

CommandResult makeCollective(RankContext &context, const InstructionPlace &place, const plan::CollectiveT &collective,
                             const Binder &binder, Communicator &communicator) {
  if (collective.kind > plan::CollectiveKind::all_to_all)
    return refusedError(
        "collective, expected all_gather, reduce_scatter, all_reduce, broadcast or all_to_all but got " +
        std::string(plan::EnumNameCollectiveKind(collective.kind)));
  auto command = std::make_unique<CollectiveCommand>(context, place, collective, communicator);
  SLUICE_RETURN_IF_ERROR(command->bind(binder));
  return std::unique_ptr<InstructionCommand>(std::move(command));
}

} // namespace sluice
