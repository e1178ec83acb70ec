//===- Rules.td - the op interfaces --------------------------------------------===//
//
// Passes use these interfaces and never switch on op kinds. An op's family file implements them in this order: verify,
// fold, derivative, sharding, cost, kernel.
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
    Reverse-mode derivative. An op without one is an inactive op (Model_InactiveOp).
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the vector-Jacobian product at the current insertion point. `cotangents` has one value per result, null where
      the cotangent is zero; at least one is not null. Returns one value per operand: its cotangent, of the operand's type,
      or null for zero. Cotangents that are not needed are erased by the caller.
    }], "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "buildVjp",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$cotangents), "",
      [{ return $_op->emitOpError("has no derivative"); }]>,
    InterfaceMethod<"True where the op has a derivative.", "bool", "isDifferentiable", (ins), "", "return true;">,
    InterfaceMethod<[{
      True where the op is the identity with the derivative zero: nothing before it has a gradient by it. Differentiation removes it.
    }], "bool", "stopsGradient", (ins), "", "return false;">,
  ];
}

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{The relation of the op's dims, as factors.}];
  let methods = [
    InterfaceMethod<"The op's sharding rule.", "::sluice::ShardingRule", "getShardingRule">,
    InterfaceMethod<[{
      Builds, before the op, an equivalent form with fewer replicated factors, and returns one value per result; failure if
      the op has no such form.
    }], "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "buildShardableForm",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder), "", [{ return ::llvm::failure(); }]>,
    InterfaceMethod<"Updates attributes that repeat extents after the types have become local.", "void",
      "adjustToTypes", (ins), "", "return;">,
  ];
}

def ShardingAttrInterface : AttrInterface<"ShardingAttrInterface"> {
  let cppNamespace = "::sluice";
  let description = [{How a tensor is divided among ranks.}];
  let methods = [InterfaceMethod<"True where a rank holds a part of the tensor.", "bool", "isSharded">];
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
    Results that can be windows of the first operand's memory (reshape, transpose, split ...). getKernelCall()
    returns a copying kernel, for layouts that cannot be viewed.
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
  let description = [{Composites: the same results from primitives, the reference in tests.}];
  let methods = [
    InterfaceMethod<"Builds the decomposition before the op and returns one value per result.",
      "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose", (ins "::mlir::ImplicitLocOpBuilder &":$builder)>,
  ];
}

def MergeOpInterface : OpInterface<"MergeOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{
    Ops over lists. Several ops with the same attributes are equivalent to one op on the operands of all of them, one op
    after the other, followed by the shared operands; its results are those of all of them.
  }];
  let methods = [
    InterfaceMethod<"The number of shared operands, which are last and not part of the list.",
      "unsigned", "getSharedOperandCount">,
  ];
}

def OptimizerOpInterface : OpInterface<"OptimizerOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{
    The update of an optimizer. Its mnemonic is the optimizer's name in a recipe. The methods are static, as they are
    used before an op exists; dialect/model/Optimizers.h lists all optimizers.
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
      (ins "::mlir::ImplicitLocOpBuilder &":$builder, "const ::sluice::UpdateOperands &":$operands,
           "const ::sluice::OptimizerSettings &":$settings)>,
  ];
}

def EvaluationOpInterface : OpInterface<"EvaluationOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{Ops that compute another function outside training (dropout is the identity).}];
  let methods = [
    InterfaceMethod<"Builds, before the op, its results outside training, and returns one value per result.",
      "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "evaluate", (ins "::mlir::ImplicitLocOpBuilder &":$builder)>,
  ];
}

def CountedMeanOpInterface : OpInterface<"CountedMeanOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{
    Losses that are a mean over counted elements, whose number differs between micro-batches and ranks.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds, before the op, the sum and the number of counted elements, as scalars of the loss's type, both divided by
      the same static number: over parts of a batch, the sum of the sums divided by the sum of the counts is the mean of
      the batch. Failure if the loss is not a mean.
    }], "::llvm::FailureOr<std::pair<::mlir::Value, ::mlir::Value>>", "buildSumAndCount", (ins "::mlir::ImplicitLocOpBuilder &":$builder)>,
  ];
}

def ScaleOrBiasOpInterface : OpInterface<"ScaleOrBiasOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{
    Ops with operands that scale or shift each feature: the scale and bias of a norm, the bias of a product. Parameters
    that are only read as such are usually excluded from weight decay.
  }];
  let methods = [
    InterfaceMethod<"True for such an operand.", "bool", "isScaleOrBias", (ins "::mlir::OpOperand &":$operand)>,
  ];
}

def PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::sluice";
  let description = [{
    Element types under another compute precision. The default: floating-point operands all have the compute type and
    result types are inferred again.
  }];
  let methods = [
    InterfaceMethod<"True where the op's result types do not change (losses, scalars of the step).", "bool",
      "keepsResultTypes", (ins), "", "return false;">,
    InterfaceMethod<[{
      Gives a result, which the op rounds once from a sum in f32, a wider element type. Failure without a change if the op
      cannot have it.
    }], "::llvm::LogicalResult", "widenResult", (ins "unsigned":$result, "::mlir::Type":$element), "",
      "return ::mlir::failure();">,
  ];
}

#endif // SLUICE_DIALECT_RULES_RULES_TD
