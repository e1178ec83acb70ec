//===- ProgramNumbers.h - the numbers of a program on all ranks ----------------------------===//
#ifndef SLUICE_TEST_UNIT_PLAN_PROOF_PROGRAMNUMBERS_H
#define SLUICE_TEST_UNIT_PLAN_PROOF_PROGRAMNUMBERS_H

#include "runtime/plan/Plan.h"

#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace sluice::test {

using Numbers = std::vector<double>;

inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

struct Tensor {
  std::vector<std::int64_t> shape;
  /// In row-major order.
  Numbers numbers;
};

/// What the functions do not know ends the run.
struct NotKnown : std::runtime_error {
  using runtime_error::runtime_error;
};

std::int64_t countOf(const std::vector<std::int64_t> &shape);
/// The coordinates of all elements in row-major order.
std::vector<std::vector<std::int64_t>> coordinatesOf(const std::vector<std::int64_t> &shape);
double numberAt(const Tensor &tensor, const std::vector<std::int64_t> &at);
/// Trailing dims align, and a dim of extent 1 repeats.
Tensor broadcasted(const Tensor &from, const std::vector<std::int64_t> &shape);
/// The sum, with broadcasting.
Tensor sumOf(const Tensor &a, const Tensor &b, const std::vector<std::int64_t> &shape);
/// An op, or a kernel of the same name, of numbers alone; nullopt if it is none. A function of one number is
/// x^2 / 4 + 1, so that no op keeps a number.
std::optional<Tensor> pointwise(std::string_view name, const std::vector<Tensor> &operands,
                                const std::vector<std::int64_t> &shape, double factor);
/// Different numbers for each tensor, rank with other rows, and repetition.
double given(const std::string &name, std::int64_t index, std::uint32_t rank, std::uint32_t repetition);

/// The values of the unsharded program of the first entry point.
class ProgramNumbers {
public:
  explicit ProgramNumbers(const plan::PlanT &plan);
  /// What the program writes to a parameter.
  Tensor written(const plan::ParameterT &parameter, std::uint32_t rank) const;
  /// A value in a repetition.
  const Tensor &value(std::uint32_t id, std::uint32_t rank, std::uint32_t repetition) const {
    return values[id][rank][repetition];
  }
  static Tensor parameterOf(const plan::ParameterT &parameter);
  std::uint32_t dataRank(std::uint32_t rank) const { return coordinateAlong(plan, rank, plan.data_axes); }

private:
  void runOp(std::uint32_t op, const std::vector<std::uint32_t> &operands, const std::vector<std::uint32_t> &results);
  /// The sum over the ranks with other rows, or their mean, of one repetition or of all.
  Tensor overRanks(std::uint32_t op, std::uint32_t operand, std::uint32_t repetition) const;
  template <typename Visit> void forEach(std::uint32_t id, const Visit &visit);
  const plan::AttributeT *attributeOf(std::uint32_t op, std::string_view name) const;

  const plan::PlanT &plan;
  const plan::ProgramT &program;
  std::uint32_t ranks, repeat;
  /// By value, rank and repetition.
  std::vector<std::vector<std::vector<Tensor>>> values;
  std::map<std::string, std::uint32_t> writes;
};

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_PLAN_PROOF_PROGRAMNUMBERS_H
