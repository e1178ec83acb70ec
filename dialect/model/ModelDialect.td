//===- ModelDialect.td - what is computed ----------------------------------------===//
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
  let summary = "what is computed: tensors of one rank's micro-batch, whole parameters, no devices";
  let description = [{
    ```
    model -> spmd -> plan
    ```
    A module holds parameters (`model.parameter`), and functions (`func.func`) with the attribute `model.entry`:
    `#model.entry<train>` for one whose result is a loss to be trained on, `#model.entry<forward>` for one that is run as it
    is. On entry a function
    is the forward computation and its loss, in `model.block` regions that name the source's modules. On exit of the
    model phase a train function is one whole step: forward, loss, backward, update. Then ops are flat, and each carries
    `model.block` (path of its module), `model.phase` (`forward`, `loss`, `backward`, `update`) and `model.ids` (the
    number of each result in the unsharded program). Values are static ranked tensors.
    The module carries `model.recipe` (resolved recipe, dictionary with the recipe's dotted keys), `model.name`,
    `model.config` (text of the source's config.json), `model.batch` and `model.sequence`.
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
    "::mlir::UnitAttr":$unsharded,
    // On functions.
    "::sluice::model::EntryKindAttr":$entry,
    // On arguments and results of entry points.
    "::mlir::StringAttr":$input,
    "::mlir::IntegerAttr":$limit,
    "::mlir::IntegerAttr":$id,
    "::mlir::StringAttr":$output,
    // On ops.
    "::mlir::StringAttr":$block,
    "::mlir::StringAttr":$checkpoint,
    "::sluice::model::PhaseAttr":$phase,
    "::mlir::IntegerAttr":$pass,
    "::mlir::DenseI64ArrayAttr":$ids,
    "::mlir::UnitAttr":$recompute,
    "::mlir::StringAttr":$sharding_rule,
    "::mlir::StringAttr":$cost
  );
  let useDefaultAttributePrinterParser = 1;
}

def Model_EntryKindAttr : Rules_EnumAttr<Model_Dialect, Rules_EntryKind, "entry">;
def Model_PhaseAttr : Rules_EnumAttr<Model_Dialect, Rules_Phase, "phase">;

/// A static tensor of floats, integers or booleans (i8 as unsigned byte for conditions).
def Model_Float : AnyTypeOf<[F32, F64, BF16, F16]>;
def Model_FloatTensor : StaticShapeTensorOf<[F32, F64, BF16, F16]>;
def Model_IntegerTensor : StaticShapeTensorOf<[I32, I64]>;
def Model_BoolTensor : StaticShapeTensorOf<[UI<8>]>;
def Model_Tensor : StaticShapeTensorOf<[F32, F64, BF16, F16, I32, I64, UI<8>]>;
/// Losses, norms, rates: f32, or f64 beside f64 values.
def Model_Scalar : StaticShapeTensorOf<[F32, F64]>;

class Model_AnyOp<string mnemonic, list<Trait> traits> : Op<Model_Dialect, mnemonic, traits>;

/// Result types follow from operands and attributes. A type's encoding (the valid extent of a shard) is not compared.
def Model_InferTypes : InferTypeOpAdaptorBase<[{
  static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange actual) {
    return ::sluice::model::typesAgree(inferred, actual);
  }
}]>;

/// An op that answers every rule. `vjp` and `precision` are the ways in which it answers those two.
class Model_RuledOp<string mnemonic, Trait vjp, Trait precision, list<Trait> traits>
    : Model_AnyOp<mnemonic, !listconcat([Pure, vjp,
        DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
        DeclareOpInterfaceMethods<CostOpInterface>,
        DeclareOpInterfaceMethods<KernelOpInterface>, precision], traits)> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

/// An op that computes: forgetting one rule is a link error.
class Model_Op<string mnemonic, list<Trait> traits = []>
    : Model_RuledOp<mnemonic, DeclareOpInterfaceMethods<VjpOpInterface, ["buildVjp"]>,
                    DeclareOpInterfaceMethods<PrecisionOpInterface>, traits>;

/// An op that computes and has no derivative, on purpose: asking for one is an error that names the op.
class Model_InactiveOp<string mnemonic, list<Trait> traits = []>
    : Model_RuledOp<mnemonic, DeclareOpInterfaceMethods<VjpOpInterface, ["isDifferentiable"]>,
                    DeclareOpInterfaceMethods<PrecisionOpInterface>, traits> {
  let extraClassDefinition = "bool $cppClass::isDifferentiable() { return false; }";
}

/// An inactive op whose types are the same under every compute precision: scalars of a step, optimizer updates.
class Model_StepOp<string mnemonic, list<Trait> traits = []>
    : Model_RuledOp<mnemonic, DeclareOpInterfaceMethods<VjpOpInterface, ["isDifferentiable"]>,
                    DeclareOpInterfaceMethods<PrecisionOpInterface, ["keepsResultTypes"]>, traits> {
  let extraClassDefinition = [{
    bool $cppClass::isDifferentiable() { return false; }
    bool $cppClass::keepsResultTypes() { return true; }
  }];
}

#endif // SLUICE_DIALECT_MODEL_MODELDIALECT_TD
