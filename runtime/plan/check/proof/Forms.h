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

  Id matmul(Id a, Id b, bool transposeA, bool transposeB, Shape shape);
  Id repeatHeads(Id value, std::int64_t heads);
  Id sumOfHeads(Id value, Id like);
  Id reshape(Id value, Shape shape);
  Id constant(double number);
  Id select(Id condition, Id a, Id b);
  Id sumAll(Id value);

  Id add(const std::string &name, std::vector<plan::AttributeT> attributes, const Ids &operands, const Shape &shape) {
    return addResults(name, std::move(attributes), operands, {shape}).front();
  }
  Ids addResults(const std::string &name, std::vector<plan::AttributeT> attributes, const Ids &operands,
                 const std::vector<Shape> &shapes);
  Id newValue(const Shape &shape);
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
