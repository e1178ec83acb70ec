//===- CrossEntropyShape.h - the operands of cross entropy, resolved ----------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_CROSSENTROPYSHAPE_H
#define SLUICE_RUNTIME_KERNEL_CPU_CROSSENTROPYSHAPE_H

#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/cpu/Bound.h"

namespace sluice::cpu {

struct CrossEntropyShape {
  /// Number and first class of the local logits, and the number of all classes.
  std::int64_t classes = 0, first = 0, total = 0, ignore = -100;
  bool mean = true;
  /// Share of the target that all classes have in common.
  double smoothing = 0;

  /// The target's index among the local logits; -1 if it is on a different rank.
  std::int64_t placeOf(std::int64_t target) const {
    return target >= first && target < first + classes ? target - first : -1;
  }
  /// Rows that count in the mean.
  std::int64_t counted(const Operand &targets) const {
    std::int64_t count = 0;
    for (std::int64_t row = 0, rows = targets.elements(); row < rows; ++row)
      count += integerAt(targets, row) != ignore;
    return count;
  }
  /// Ok where every target that counts is a class.
  Status checkTargets(const Operand &targets) const {
    for (std::int64_t row = 0, rows = targets.elements(); row < rows; ++row)
      if (const std::int64_t target = integerAt(targets, row); target != ignore && (target < 0 || target >= total))
        return failedError(concat("target of row ", row, ", expected 0 to ", total - 1, " but got ", target));
    return Status::ok();
  }

  /// All classes are local.
  static Result<CrossEntropyShape> of(const KernelRequest &request, const Operand &logits, const Operand &targets,
                                      const Operand &lse, const Operand &loss) {
    CrossEntropyShape shape;
    shape.classes = shape.total = logits.extent[logits.rank - 1];
    shape.ignore = request.attributes->integer("ignore_index");
    shape.mean = request.attributes->choice<kernel::LossReduction>("reduction") == kernel::LossReduction::mean;
    shape.smoothing = request.attributes->number("label_smoothing");
    return shape;
  }
  /// Of a request of `cross_entropy_grad`, whose logits may be a shard of the classes.
  static Result<CrossEntropyShape> ofGradient(const KernelRequest &request) {
    const Operand &logits = request.inputs[1];
    SLUICE_ASSIGN_OR_RETURN(CrossEntropyShape shape,
                            of(request, logits, request.inputs[2], request.inputs[3], request.inputs[0]));
    shape.first = logits.origin[logits.rank - 1];
    shape.total = std::max(logits.global[logits.rank - 1], shape.classes);
    return shape;
  }
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_CROSSENTROPYSHAPE_H
