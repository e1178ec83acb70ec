//===- Check.cpp - checks of a kernel request --------------------------------------===//
#include "runtime/kernel/cpu/Bound.h"

namespace sluice::cpu {

std::string Check::name(const Operand &operand) const {
  for (std::size_t i = 0; i < request.inputs.size(); ++i)
    if (&request.inputs[i] == &operand)
      return concat("input ", i);
  for (std::size_t i = 0; i < request.outputs.size(); ++i)
    if (&request.outputs[i] == &operand)
      return concat("output ", i);
  return "operand";
}

Status Check::refuseText(const std::string &problem) const {
  return refusedError("kernel '" + std::string(request.record->name) + "' " + problem);
}

Status Check::dtype(const Operand &operand, DType expected) const {
  if (operand.dtype != expected)
    return refuse(name(operand) + " dtype, expected " + std::string(dtypeName(expected)) + " but got " +
                  std::string(dtypeName(operand.dtype)));
  return Status::ok();
}

Status Check::rank(const Operand &operand, int expected) const {
  if (operand.rank != expected)
    return refuse(name(operand), " rank, expected ", expected, " but got ", operand.rank);
  return Status::ok();
}

Status Check::dim(const Operand &operand, int dim, std::int64_t expected) const {
  if (operand.extent[dim] != expected)
    return refuse(name(operand), " extent of dim ", dim, ", expected ", expected, " but got ", operand.extent[dim]);
  return Status::ok();
}

Result<int> Check::dimOf(const Operand &operand) const {
  const std::int64_t dim = request.attributes->integer("dim");
  if (dim < 0 || dim >= operand.rank)
    return refuse("dim ", dim, " is not a dim of an operand of rank ", operand.rank);
  return static_cast<int>(dim);
}

Status Check::workspace(std::uint64_t needed) const {
  if (needed > request.workspace)
    return refuse("workspace, expected at least ", needed, " bytes but got ", request.workspace);
  return Status::ok();
}

} // namespace sluice::cpu
