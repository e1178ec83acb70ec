//===- Forms.h - forms of ops that ranks can divide ------------------------------------------===//
//
// A kernel that computes several steps at once may not be divided where the steps may: ranks then compute the steps. A
// form of an op is a list of ops with the same results over exact reals, from docs/spec/model.md. It is numbered as if
// the program had these ops in place of the op, so launches of either are related to the same roots.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_CHECK_PROOF_FORMS_H
#define SLUICE_RUNTIME_PLAN_CHECK_PROOF_FORMS_H

#include "runtime/plan/check/proof/Numbering.h"

namespace sluice::check::proof {

/// Adds the ops of forms to the program of a numbering.
class Forms {
public:
  Forms(Numbering &numbering, NumberedFunction &function, double repeat)
      : numbering(numbering), program(numbering.program), function(function), repeat(repeat) {}

  /// Numbers the results of the op as those of its form; false if it has none.
  bool number(std::uint32_t op);

private:
  using Id = std::uint32_t;
  using Ids = std::vector<Id>;

  // One for each op: the values that are its results.
  Ids ofMatmul();
  Ids ofMatmulGelu();
  Ids ofMatmulGeluGrad();
  Ids ofAttention();
  Ids ofAttentionGrad();
  Ids ofCrossEntropy();
  Ids ofLinearCrossEntropy();
  Ids ofLinearCrossEntropyGrad();
  /// log(sum(exp(x))) = m + log(sum(exp(x - m))) for any m; here the largest term of the ranks.
  void addShiftedSum(Id lse);

  Id matmul(Id a, Id b, bool transposeA, bool transposeB, Id like);
  Id logitsOf(Id x, Id weight);
  Id repeatHeads(Id value, std::int64_t heads);
  Id sumOfHeads(Id value, Id like);
  Id reshape(Id value, Shape shape);
  Id constant(double number, Id like);
  Id select(Id condition, Id a, Id b);
  Id sumAll(Id value);

  /// The result has the element type of the first floating-point operand, else that of the first operand.
  Id add(const std::string &name, std::vector<plan::AttributeT> attributes, const Ids &operands, const Shape &shape);
  /// The results have the types of these values.
  Ids addLike(const std::string &name, std::vector<plan::AttributeT> attributes, const Ids &operands, const Ids &like);
  Ids addResults(const std::string &name, std::vector<plan::AttributeT> attributes, const Ids &operands,
                 const std::vector<plan::ProgramTypeT> &types);
  Id newValue(const plan::ProgramTypeT &type);
  plan::DType dtypeOf(Id value) const { return numbering.type(value).dtype; }
  const Shape &shapeOf(Id value) const { return numbering.type(value).shape; }

  Numbering &numbering;
  plan::ProgramT &program;
  NumberedFunction &function;
  double repeat;
  // Of the op.
  const plan::ProgramKindT *kind = nullptr;
  std::uint32_t op = 0;
  Ids operands, results;
};

} // namespace sluice::check::proof

#endif // SLUICE_RUNTIME_PLAN_CHECK_PROOF_FORMS_H
