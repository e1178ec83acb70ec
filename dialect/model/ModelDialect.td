//===- ModelDialect.td - the computation of one rank -----------------------------===//
#ifndef SLUICE_DIALECT_MODEL_MODELDIALECT_TD
#define SLUICE_DIALECT_MODEL_MODELDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialect/rules/Enums.td"
include "dialect/rules/Rules.td"

def Model_Dialect : Dialect {
  let name = "model";
  let cppNamespace = "::sluice::model";
  let summary = "the computation: tensors of one rank's micro-batch, unsharded parameters, no devices";
  let description = [{
    The semantics and the constraints of each op of the `model` dialect. A label such as `rope_c2` is in this page, above the test in
    `test/dialect/model/errors-<family>.mlir`, and at the check in `dialect/model/ops/<Family>.cpp`, unless ODS or the signature in the record of the
    op's kernel states the constraint.

    Every value is a static ranked tensor. Element types: *float* is `f32`, `f64`, `bf16` or `f16`; *integer* is `i32` or `i64`; *boolean* is `ui8`,
    0 or 1. *Scalar* means rank 0. Constraints compare shapes and element types; the encoding of a type (the valid extent of a shard) is not
    compared. *Statistics type* of an element type: `f64` for `f64`, else `f32`. Composites compute in the statistics type and round once, at the end.
    If a result type "follows", the op infers it, and a different type is an error.

    Shapes *broadcast* as in numpy: trailing dims align, a missing leading dim or an extent of 1 repeats.

    An op that has no derivative is marked *inactive*. The derivative of the others is given as `d<operand>`, the cotangent of the operand, from
    `dy`, the cotangent of the result.

    ## Creation

    All inactive.

    ## Movement

    Results of broadcast, reshape, transpose, slice and split are windows of the operand's memory if strides can express it; then they need no instruction.

    ## Images

    Images are channels-last: `[N, H, W, C]`. Lists of two are of height and width.

    ## Step

    Scalars are f32, or f64 with f64 parameters. All inactive; the compute precision does not change the types.

    ## Optimizer

    All inactive; the compute precision does not change the types. An op updates any number of parameters: `values` lists for each of them the parameter, its gradient and its states, and
    `updated` lists the new parameter and its new states likewise; `lr`, `step`, `coefficient`, `guard` are shared by all. New parameters and states reuse the memory of the old ones. Each gradient is first multiplied by
    `coefficient`. If `guard` is 0 nothing changes. `lr` is an f32 or f64 scalar, `step` an i64 scalar that counts from 1. The importer's steps have an update for each parameter; `spmd-merge-updates` merges the updates of a unit.

    **Constraints.** (update_c1) at least one parameter, and for each of them a gradient and as many states as the optimizer has, before and after. (update_c2) gradient, states, new parameter and new states have the type of their parameter.
    (update_c3) `lr`, `step`, `coefficient`, `guard` are scalars.
  }];
  let discardableAttrs = (ins
    // On the module.
    "::mlir::StringAttr":$name,
    "::mlir::StringAttr":$config,
    "::mlir::IntegerAttr":$batch,
    "::mlir::IntegerAttr":$sequence,
    "::mlir::DictionaryAttr":$recipe,
    "::mlir::DictionaryAttr":$recipe_origins,
    "::mlir::StringAttr":$compiled_to,
    "::mlir::StringAttr":$source_digest,
    "::mlir::UnitAttr":$unsharded,
    // On functions.
    "::sluice::model::EntryKindAttr":$entry,
    // On arguments and results of entry points.
    "::mlir::StringAttr":$input,
    "::mlir::IntegerAttr":$limit,
    "::mlir::DenseElementsAttr":$values,
    "::mlir::IntegerAttr":$id,
    "::mlir::StringAttr":$output,
    // On ops.
    "::mlir::StringAttr":$block,
    "::mlir::StringAttr":$checkpoint,
    "::sluice::model::PhaseAttr":$phase,
    "::mlir::IntegerAttr":$invocation,
    "::mlir::DenseI64ArrayAttr":$ids,
    "::mlir::UnitAttr":$recompute,
    "::mlir::StringAttr":$sharding_rule,
    "::mlir::StringAttr":$cost
  );
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

def Model_EntryKindAttr : Rules_EnumAttr<Model_Dialect, Rules_EntryKind, "entry">;
def Model_InitializerKindAttr : Rules_EnumAttr<Model_Dialect, Rules_InitializerKind, "initializer">;
def Model_GeluApproximationAttr : Rules_EnumAttr<Model_Dialect, Rules_GeluApproximation, "approximation">;
def Model_LossReductionAttr : Rules_EnumAttr<Model_Dialect, Rules_LossReduction, "reduction">;
def Model_ComparePredicateAttr : Rules_EnumAttr<Model_Dialect, Rules_ComparePredicate, "predicate">;
def Model_RopeScalingAttr : Rules_EnumAttr<Model_Dialect, Rules_RopeScaling, "scaling">;
def Model_PhaseAttr : Rules_EnumAttr<Model_Dialect, Rules_Phase, "phase">;

/// A static tensor of floats, integers or booleans (i8 as unsigned byte for conditions).
def Model_Float : AnyTypeOf<[F32, F64, BF16, F16]>;
def Model_FloatTensor : StaticShapeTensorOf<[F32, F64, BF16, F16]>;
def Model_IntegerTensor : StaticShapeTensorOf<[I32, I64]>;
def Model_BoolTensor : StaticShapeTensorOf<[UI<8>]>;
def Model_Tensor : StaticShapeTensorOf<[F32, F64, BF16, F16, I32, I64, UI<8>]>;
class Model_ScalarOf<list<Type> elements> : RankedTensorOf<elements, [HasAnyRankOfPred<[0]>], "scalar tensor">;
/// Losses, norms, rates: f32, or f64 for a computation in f64.
def Model_Scalar : Model_ScalarOf<[F32, F64]>;
def Model_IntegerScalar : Model_ScalarOf<[I64]>;
def Model_BoolScalar : Model_ScalarOf<[UI<8>]>;
class Model_OfRank<Type type, int rank> : ConfinedType<type, [HasAnyRankOfPred<[rank]>], type.summary # " of rank " # rank>;
class Model_OfMinRank<Type type, int rank>
    : ConfinedType<type, [HasRankGreaterOrEqualPred<rank>], type.summary # " of rank " # rank # " or more">;

/// The values have one shape and element type. Encodings may differ.
class Model_TypesAgree<list<string> names>
    : AllMatchSameOperatorTrait<names, "::llvm::cast<::mlir::RankedTensorType>($_self.getType()).dropEncoding()", "type">;

/// A number for height and one for width, above 0.
def Model_PositivePair
    : ConfinedAttr<DenseI64ArrayAttr, [DenseArrayCount<2>, DenseArrayStrictlyPositive<DenseI64ArrayAttr>]>;
/// The same, at least 0.
def Model_NonNegativePair
    : ConfinedAttr<DenseI64ArrayAttr, [DenseArrayCount<2>, DenseArrayNonNegative<DenseI64ArrayAttr>]>;

class Model_GetterOf<string name> {
  string call = "get" # !toupper(!substr(name, 0, 1)) # !substr(name, 1) # "()";
}
class Model_ElementTrait<string predicate, string text, string of, list<string> names>
    : PredOpTrait<"element type of " # !interleave(names, ", ") # " is " # text, CPred<!interleave(!foreach(name, names,
        "::sluice::model::" # predicate # "(" # Model_GetterOf<name>.call # ", " # Model_GetterOf<of>.call # ")"), " && ")>>;
/// The named values, where they are given, have the element type of `of`.
class Model_ElementsOf<string of, list<string> names> : Model_ElementTrait<"hasElementOf", "that of " # of, of, names>;
/// The named values have the statistics type of `of`.
class Model_StatisticsOf<string of, list<string> names>
    : Model_ElementTrait<"hasStatisticsOf", "the statistics type of " # of, of, names>;
/// The named values have the element type of `of` or its statistics type.
class Model_GradientsOf<string of, list<string> names>
    : Model_ElementTrait<"hasGradientOf", "that of " # of # " or its statistics type", of, names>;

class Model_F64In<string condition, string text> : ConfinedAttr<F64Attr, [AttrConstraint<
    CPred<"[](double value) { return " # condition # "; }(::llvm::cast<::mlir::FloatAttr>($_self).getValueAsDouble())">,
    "whose value is " # text>]>;
def Model_PositiveF64 : Model_F64In<"std::isfinite(value) && value > 0", "a finite number above 0">;
def Model_Fraction : Model_F64In<"value >= 0 && value <= 1", "0 to 1">;
/// The number of an op among those that draw random numbers in a step.
def Model_RandomKey : ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<4294967295>]>;
/// The exponent of a norm; infinite for the largest absolute value.
def Model_NormExponent : Model_F64In<"value > 0", "above 0">;

/// The assembly of an op with one operand and one result of the same type: the type is written once. As a function
/// type, as for other ops, it is accepted too, and printed where the encodings of the two types differ.
class Model_UnaryFormat<string operand, string result> {
  string text = "$" # operand # " attr-dict `:` custom<UnaryTypes>(type($" # operand # "), type($" # result # "))";
}

class Model_AnyOp<string mnemonic, list<Trait> traits> : Op<Model_Dialect, mnemonic, traits>;

/// Result types follow from operands and attributes. A type's encoding (the valid extent of a shard) is not compared.
def Model_InferTypes : InferTypeOpAdaptorBase<[{
  static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual) {
    return ::sluice::model::typesAgree(inferred, actual);
  }
}]>;

/// Result types follow by `body`, which appends them to `types`.
class Model_InferBy<string body> : TraitList<[
  DeclareOpInterfaceMethods<InferTypeOpInterface>,
  NativeOpTrait<"InferTypeOpAdaptor", [], [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual) {
      return ::sluice::model::typesAgree(inferred, actual);
    }
  }], [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, std::optional<::mlir::Location> location, ::mlir::ValueRange operands,
        ::mlir::DictionaryAttr attributes, ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      Adaptor adaptor(operands, attributes, properties, regions);
      }] # body # [{
    }
  }]>]>;
/// Result types are those of the named operands.
class Model_ResultsLike<list<string> operands> : Model_InferBy<"types.append({" # !interleave(!foreach(operand, operands,
    "adaptor." # Model_GetterOf<operand>.call # ".getType()"), ", ")
  # "});\n      return ::mlir::success();">;

/// Result extents follow from the signature of the op's kernel. `types` has the type of each result, as C++: a tensor type,
/// or the element type of a tensor of these extents.
class Model_InferExtents<string kernel, list<string> types> : Model_InferBy<
    "return ::sluice::model::inferExtents(location, ::sluice::KernelId::" # kernel # ", operands, {" # !interleave(types, ", ") # "}, types);">;
class Model_TypeOf<string operand> {
  string text = "adaptor." # Model_GetterOf<operand>.call # ".getType()";
}
class Model_ElementType<string operand> {
  string text = "::sluice::model::elementOf(adaptor." # Model_GetterOf<operand>.call # ")";
}
class Model_StatisticsType<string operand> {
  string text = "::sluice::model::statisticsElement(" # Model_ElementType<operand>.text # ")";
}

/// An op that implements every interface. `vjp` and `precision` are its implementations of those two, and
/// `definitions` methods that an op class defines.
class Model_RuledOp<string mnemonic, Trait vjp, Trait precision, list<Trait> traits, string definitions = "">
    : Model_AnyOp<mnemonic, !listconcat([Pure, vjp,
        DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
        DeclareOpInterfaceMethods<CostOpInterface>,
        DeclareOpInterfaceMethods<KernelOpInterface>, precision], traits)> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  /// The kernel that executes the op, with the op's attributes that the kernel's record has. Empty: the family defines
  /// getKernelCall.
  string kernel = mnemonic;
  /// The number of operations for each element of the first result (a transcendental function is one). Empty: the family
  /// defines getCost.
  string flopsPerElement = "";
  /// The function of the sharding rule; that of the kernel's record unless the op differs. Empty: the family defines
  /// getShardingRule.
  string rule = "recordedRule";
  /// The family defines verify. Otherwise the extents fit the signature in the kernel's record.
  bit hasOwnVerifier = 0;
  let hasVerifier = 1;
  /// The family defines buildShardableForm.
  bit hasShardableForm = 0;
  /// This result and all that follow it may be wider; negative: none may.
  int firstWidened = -1;
  /// The family defines widenResult.
  bit widensResults = 0;
  let extraClassDeclaration = !if(hasShardableForm,
      "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>> buildShardableForm(::mlir::ImplicitLocOpBuilder &builder);\n", "")
    # !if(!or(widensResults, !ge(firstWidened, 0)), "::llvm::LogicalResult widenResult(unsigned result, ::mlir::Type element);\n", "");
  let extraClassDefinition = definitions
    # !if(hasOwnVerifier, "", "::llvm::LogicalResult $cppClass::verify() { return ::sluice::verifyExtents(*this); }\n")
    # !if(!empty(kernel), "", "::sluice::KernelCall $cppClass::getKernelCall() { return recordedCall(*this, ::sluice::KernelId::"
                              # kernel # "); }\n")
    # !if(!lt(firstWidened, 0), "", "::llvm::LogicalResult $cppClass::widenResult(unsigned result, ::mlir::Type element) {\n"
        # "  if (int(result) < " # firstWidened # ")\n    return ::mlir::failure();\n"
        # "  ::sluice::model::setElement((*this)->getResult(result), element);\n  return ::mlir::success();\n}\n")
    # !if(!empty(rule), "", "::sluice::ShardingRule $cppClass::getShardingRule() { return " # rule # "(*this); }\n")
    # !if(!empty(flopsPerElement), "", "::sluice::OpCost $cppClass::getCost() { return pointwiseCost(*this, " # flopsPerElement # "); }\n");
}

/// A compute op: a missing interface method is a link error.
class Model_Op<string mnemonic, list<Trait> traits = []>
    : Model_RuledOp<mnemonic, DeclareOpInterfaceMethods<VjpOpInterface, ["buildVjp"]>,
                    DeclareOpInterfaceMethods<PrecisionOpInterface>, traits>;

/// A compute op without a derivative: to differentiate it is an error that names the op.
class Model_InactiveOp<string mnemonic, list<Trait> traits = []>
    : Model_RuledOp<mnemonic, DeclareOpInterfaceMethods<VjpOpInterface, ["isDifferentiable"]>,
                    DeclareOpInterfaceMethods<PrecisionOpInterface>, traits,
                    "bool $cppClass::isDifferentiable() { return false; }\n">;

/// An inactive op whose types the compute precision does not change: scalars of a step, optimizer updates.
class Model_StepOp<string mnemonic, list<Trait> traits = []>
    : Model_RuledOp<mnemonic, DeclareOpInterfaceMethods<VjpOpInterface, ["isDifferentiable"]>,
                    DeclareOpInterfaceMethods<PrecisionOpInterface, ["keepsResultTypes"]>, traits, [{
    bool $cppClass::isDifferentiable() { return false; }
    bool $cppClass::keepsResultTypes() { return true; }
  }]>;

#endif // SLUICE_DIALECT_MODEL_MODELDIALECT_TD
