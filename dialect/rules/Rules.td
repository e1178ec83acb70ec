//===- Rules.td - the questions that every op answers --------------------------===//
//
// Op interfaces. Passes ask through them and never switch on op kinds. An op's family file answers in this order:
// verify, fold, derivative, sharding, cost, kernel.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_RULES_RULES_TD
#define SLUICE_DIALECT_RULES_RULES_TD

include "mlir/IR/OpBase.td"

/// An op over a list of operands.
def Rules_AtLeastOneOperand : PredOpTrait<"there is at least one operand", CPred<"$_op.getNumOperands() > 0">>;

def VjpOpInterface : OpInterface<"VjpOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{
    Reverse-mode derivative. An op without one is an inactive op (Model_InactiveOp) and says so in its definition.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the vector-Jacobian product after the current insertion point. `cotangents` has one value per result, null
      where the cotangent is zero; at least one is not null. `needed` has one flag per operand. Appends one value per
      operand to `gradients`: the operand's cotangent, of the operand's type, or null for zero or not needed.
    }], "::llvm::LogicalResult", "buildVjp",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$cotangents,
           "::llvm::ArrayRef<bool>":$needed, "::llvm::SmallVectorImpl<::mlir::Value> &":$gradients), "",
      [{ return $_op->emitOpError("has no derivative"); }]>,
    InterfaceMethod<"True where the op has a derivative.", "bool", "isDifferentiable", (ins), "", "return true;">,
  ];
}

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{How the op's dims relate, as factors.}];
  let methods = [
    InterfaceMethod<"The op's sharding rule.", "::sluice::ShardingRule", "getShardingRule">,
    InterfaceMethod<[{
      Builds, before the op, ops that give its results and leave fewer of its factors whole, and returns one value per
      result; failure where there are none.
    }], "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "buildSplitForm",
      (ins "::mlir::OpBuilder &":$builder), "", [{ return ::llvm::failure(); }]>,
    InterfaceMethod<"Brings attributes that repeat extents in line with types that have become those of a part.", "void",
      "adjustToTypes", (ins), "", "return;">,
  ];
}

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{Operations and bytes of one execution.}];
  let methods = [InterfaceMethod<"The op's cost.", "::sluice::OpCost", "getCost">];
}

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{The catalogue kernel that executes the op.}];
  let methods = [InterfaceMethod<"The op's kernel call.", "::sluice::KernelCall", "getKernelCall">];
}

def ViewOpInterface : OpInterface<"ViewOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{
    Results that can be windows of the first operand's memory (reshape, transpose, split ...). The op still answers
    getKernelCall() with a copying kernel, for layouts that cannot be viewed.
  }];
  let methods = [
    InterfaceMethod<"The window of result `result` in the memory that `source` describes, or failure if a copy is needed.",
      "::llvm::FailureOr<::sluice::StridedLayout>", "getViewOf",
      (ins "unsigned":$result, "const ::sluice::StridedLayout &":$source)>,
  ];
}

def DestinationOpInterface : OpInterface<"DestinationOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{Ops whose operands can be produced in place, as windows of the result (concat).}];
  let methods = [
    InterfaceMethod<"The window of operand `operand` in the result's memory that `result` describes.",
      "::sluice::StridedLayout", "getOperandWindow",
      (ins "unsigned":$operand, "const ::sluice::StridedLayout &":$result)>,
  ];
}

def DecomposeOpInterface : OpInterface<"DecomposeOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{Composites: the same results by primitives, the reference in tests.}];
  let methods = [
    InterfaceMethod<"Builds the decomposition before the op and returns one value per result.",
      "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose", (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

def MergeOpInterface : OpInterface<"MergeOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{
    Ops over lists: what several of them with the same attributes do, one does on the operands of all of them, one after
    the other, and then those operands that they share; its results are those of all of them.
  }];
  let methods = [
    InterfaceMethod<"How many of the last operands are not of the list: an op that does the work of several has them once.",
      "unsigned", "getSharedOperandCount">,
  ];
}

def OptimizerOpInterface : OpInterface<"OptimizerOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{
    The update of an optimizer. Its mnemonic is the optimizer's name in a recipe. The answers are static, as they are
    needed before there is an op; dialect/model/Optimizers.h lists those of all optimizers.
  }];
  let methods = [
    StaticInterfaceMethod<"The hyper-parameters, with defaults and meaning.",
      "std::vector<::sluice::HyperParameter>", "getHyperParameters">,
    StaticInterfaceMethod<"Names of the states that each parameter has.", "::llvm::SmallVector<::llvm::StringRef>",
      "getStateNames", (ins "const ::sluice::OptimizerSettings &":$settings)>,
    StaticInterfaceMethod<"A setting that another one contradicts, if any.", "std::optional<::sluice::SettingsConflict>",
      "findConflict", (ins "const ::sluice::OptimizerSettings &":$settings), "", "return std::nullopt;">,
    StaticInterfaceMethod<"Builds the update of one parameter. Results are the new parameter and states.",
      "::mlir::Operation *", "buildUpdate",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$location,
           "const ::sluice::UpdateOperands &":$operands, "const ::sluice::OptimizerSettings &":$settings)>,
  ];
}

def EvaluationOpInterface : OpInterface<"EvaluationOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{Ops that are something else outside training (dropout is the identity).}];
  let methods = [
    InterfaceMethod<"Builds, before the op, what its results are outside training, and returns one value per result.",
      "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "evaluate", (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

def CountedMeanOpInterface : OpInterface<"CountedMeanOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{
    Losses that are a mean over what is counted, the number of which differs between micro-batches and ranks.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds, before the op, the sum and the number of what is counted, as scalars of the loss's type, both divided by one
      static number: over parts of a batch, the sum of the sums over the sum of the counts is the mean of the whole.
      Failure where the loss is no mean.
    }], "::llvm::FailureOr<std::pair<::mlir::Value, ::mlir::Value>>", "countApart", (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

def PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{
    Element types under another compute precision. The default: floating-point operands all have the compute type and
    result types are inferred anew.
  }];
  let methods = [
    InterfaceMethod<"True where the op's results stay as they are (losses, scalars of the step).", "bool",
      "keepsResultTypes", (ins), "", "return false;">,
  ];
}

#endif // SLUICE_DIALECT_RULES_RULES_TD
