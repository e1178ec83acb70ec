//===- PlanCollectives.cpp - compares a rank's collectives with the plan --------------------===//
//
// One group of calls of NCCL for a collective: its segments, type, operation and communicator. Over a run: the elements
// of a unit's reductions, one communicator per group and stream, and the ranges that are registered with each.
//
//===----------------------------------------------------------------------===//
#include "test/cuda/PlanCalls.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace sluice::test {
namespace {

int ncclType(plan::DType dtype) {
  switch (dtype) {
  case plan::DType::f32:
    return cuda::nccl::typeF32;
  case plan::DType::f64:
    return cuda::nccl::typeF64;
  case plan::DType::bf16:
    return cuda::nccl::typeBf16;
  case plan::DType::f16:
    return cuda::nccl::typeF16;
  case plan::DType::i32:
    return cuda::nccl::typeI32;
  case plan::DType::i64:
    return cuda::nccl::typeI64;
  default:
    return cuda::nccl::typeU8;
  }
}

const char *ncclName(plan::CollectiveKind kind) {
  return kind == plan::CollectiveKind::all_gather       ? "ncclAllGather"
         : kind == plan::CollectiveKind::reduce_scatter ? "ncclReduceScatter"
         : kind == plan::CollectiveKind::all_reduce     ? "ncclAllReduce"
         : kind == plan::CollectiveKind::all_to_all     ? "ncclSend"
                                                        : "ncclBroadcast";
}

/// True if the call has the plan's operation. Pre-multiplied sums are operations of a communicator, by their factor.
bool isOperation(const plan::CollectiveT &collective, const FakeCall &call) {
  switch (collective.op) {
  case plan::ReduceOp::mean:
    return call.op == cuda::nccl::average;
  case plan::ReduceOp::max:
    return call.op == cuda::nccl::max;
  case plan::ReduceOp::premul_sum:
    return call.op > cuda::nccl::average &&
           std::abs(call.scale - collective.scale) <= 1e-2 * std::abs(collective.scale);
  default:
    return call.op == cuda::nccl::sum;
  }
}

} // namespace

std::string PlanCalls::compareCollective(const plan::InstructionT &instruction, const plan::CollectiveT &collective,
                                         std::uint32_t repetition) {
  const FakeCall *call = next(instruction.stream);
  if (!call || call->kind != FakeCall::Kind::collective || call->name != ncclName(collective.kind))
    return std::string("expected one group of ") + ncclName(collective.kind) + " but got " +
           (call ? "'" + call->name + "'" : "nothing");
  ++counts.collectives;
  const std::vector<int> members = groupMembers(plan, static_cast<std::uint32_t>(rank), collective.axes);
  std::vector<std::uint64_t> elements;
  std::vector<const void *> addresses;
  std::uint64_t sum = 0;
  for (const auto &segment : collective.segments) {
    const Bound source = bind(*segment->source), destination = bind(*segment->destination);
    std::uint64_t given = 1, taken = 1;
    for (std::int64_t extent : segment->source->shape)
      given *= static_cast<std::uint64_t>(extent);
    for (std::int64_t extent : segment->destination->shape)
      taken *= static_cast<std::uint64_t>(extent);
    sum += std::max(given, taken);
    auto *from = static_cast<std::byte *>(source.operand.data) + repetition * source.stride;
    auto *to = static_cast<std::byte *>(destination.operand.data) + repetition * destination.stride;
    if (collective.kind != plan::CollectiveKind::all_to_all) {
      elements.push_back(std::min(given, taken));
      addresses.insert(addresses.end(), {from, to});
      continue;
    }
    // A send and a receive for each member.
    const std::uint64_t chunk = given / members.size();
    for (std::size_t m = 0; m < members.size(); ++m) {
      const std::uint64_t offset = m * chunk * dtypeBytes(baseType(collective.dtype));
      elements.insert(elements.end(), {chunk, chunk});
      addresses.insert(addresses.end(), {from + offset, nullptr, nullptr, to + offset});
    }
  }
  if (call->counts != elements)
    return "counts of a group, expected the plan's segments but got others";
  if (call->addresses != addresses)
    return "addresses of a group, expected the plan's segments but got others";
  if (call->type != ncclType(collective.dtype))
    return differs("type", ncclType(collective.dtype), call->type);
  if (!isOperation(collective, *call))
    return differs("operation of " + std::string(plan::EnumNameReduceOp(collective.op)),
                   static_cast<int>(collective.op), call->op);
  const void *&communicator = communicators[{collective.axes, instruction.stream}];
  if (!communicator)
    communicator = call->communicator;
  if (communicator != call->communicator)
    return "the communicator is not that of the group and stream";
  if (FakeCuda::membersOf(communicator) != members)
    return "members of the communicator, expected the plan's group but got others";
  const auto setting = [](bool isSet, int value) { return isSet ? value : cuda::nccl::Config::undefined; };
  if (FakeCuda::ctasOf(communicator) != std::pair(setting(plan.max_ctas != 0, static_cast<int>(plan.max_ctas)),
                                                  setting(plan.copy_engines, cuda::nccl::ctaPolicyZero)))
    return "CTAs of the communicator, expected the plan's settings but got others";
  if (collective.kind == plan::CollectiveKind::reduce_scatter && instruction.unit >= 0)
    reduced[{instruction.unit, instruction.invocation, repetition}] += sum;
  return "";
}

/// A unit's reductions have all elements of its trained parameters, padding included.
std::string PlanCalls::checkReductions() const {
  for (const auto &[where, got] : reduced) {
    std::uint64_t wanted = 0;
    for (std::uint32_t p : plan.units[static_cast<std::size_t>(std::get<0>(where))]->parameters) {
      const plan::ParameterT &parameter = *plan.parameters[p];
      if (parameter.frozen || parameter.dim < 0)
        continue;
      std::uint64_t elements = groupSize(plan, parameter.axes);
      for (std::int64_t extent : shardShape(parameter))
        elements *= static_cast<std::uint64_t>(extent);
      wanted += elements;
    }
    if (got != wanted)
      return differs("elements reduced for unit '" + plan.units[static_cast<std::size_t>(std::get<0>(where))]->name +
                         "'",
                     wanted, got);
  }
  return "";
}

std::string PlanCalls::checkRegistration(bool registers) const {
  std::set<const void *> different;
  for (const auto &[key, communicator] : communicators) {
    different.insert(communicator);
    const auto found = FakeCuda::registeredWith(communicator);
    if (!registers && !found.empty())
      return differs("registrations", 0, found.size());
    if (registers && (found.size() != 1 || found[0].first != arenas[0] || found[0].second != plan.arenas[0]->bytes))
      return "the arena is not registered";
  }
  return different.size() == communicators.size() ? "" : "communicators, expected one a group and stream but got fewer";
}

} // namespace sluice::test
