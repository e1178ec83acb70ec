//===- PlanDialect.td - when, on which stream, at which byte -------------------------===//
#ifndef SLUICE_DIALECT_PLAN_PLANDIALECT_TD
#define SLUICE_DIALECT_PLAN_PLANDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "dialect/rules/Enums.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::sluice::plan_ir";
  let summary = "when, on which stream, at which byte: one-to-one with the runtime's instructions";
  let description = [{
    ```
    model -> spmd -> plan
    ```
    A module holds the mesh, units and parameters of the phases before, `plan.stream` and `plan.buffer` symbols, and
    `plan.entry` ops. Instructions name buffers through views (an attribute), not SSA values: their order is the order of
    issue over all streams. Instructions carry `phase`, and where they apply `when`, `unit`, `pass`, `recompute`.
    After scheduling every instruction has its stream and every dependence between streams its events; after memory
    planning every buffer has offset and lifespan.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;
class Plan_Attr<string name, string mnemonicName> : AttrDef<Plan_Dialect, name> { let mnemonic = mnemonicName; }

def Plan_WhenAttr : Rules_WhenAttr<Plan_Dialect>;
def Plan_PhaseAttr : Rules_EnumAttr<Plan_Dialect, Rules_Phase, "phase">;
def Plan_MemorySpaceAttr : Rules_EnumAttr<Plan_Dialect, Rules_MemorySpace, "space">;
def Plan_ProcessorAttr : Rules_EnumAttr<Plan_Dialect, Rules_Processor, "processor">;
def Plan_BufferClassAttr : Rules_EnumAttr<Plan_Dialect, Rules_BufferClass, "class">;
def Plan_CollectiveKindAttr : Rules_EnumAttr<Plan_Dialect, Rules_CollectiveKind, "kind">;
def Plan_ReductionKindAttr : Rules_EnumAttr<Plan_Dialect, Rules_ReductionKind, "reduction">;
def Plan_PortDirectionAttr : Rules_EnumAttr<Plan_Dialect, Rules_PortDirection, "direction">;

/// As spmd's: clamp(total - coordinate * chunk, 0, chunk).
def Plan_ValidAttr : Plan_Attr<"Valid", "valid"> {
  let summary = "the true extent of a padded dim";
  let parameters = (ins "int64_t":$dim, "int64_t":$chunk, "int64_t":$total, ArrayRefParameter<"::mlir::StringAttr">:$axes);
  let assemblyFormat = "`<` `dim` `=` $dim `,` `chunk` `=` $chunk `,` `total` `=` $total `,` `axes` `=` `[` $axes `]` `>`";
}

/// A typed strided window of a buffer. Offset in bytes; empty strides: dense row-major; `step`: bytes added for each
/// repetition of the section.
/// ```mlir
/// #plan.view<@w : 4x64xf32 offset 128 strides [64, 1] step 256 valid <dim = 0, chunk = 4, total = 10, axes = ["shard"]>>
/// ```
def Plan_ViewAttr : Plan_Attr<"View", "view"> {
  let summary = "a typed strided window of a buffer";
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$buffer, "::mlir::Type":$elementType, ArrayRefParameter<"int64_t">:$shape,
                        DefaultValuedParameter<"int64_t", "0">:$offset, OptionalArrayRefParameter<"int64_t">:$strides,
                        DefaultValuedParameter<"int64_t", "0">:$step, OptionalParameter<"::sluice::plan_ir::ValidAttr">:$valid);
  let hasCustomAssemblyFormat = 1;
  let builders = [AttrBuilderWithInferredContext<(ins "::mlir::FlatSymbolRefAttr":$buffer, "::mlir::RankedTensorType":$type), [{
    return $_get(buffer.getContext(), buffer, type.getElementType(), type.getShape(), 0, ::llvm::ArrayRef<int64_t>(), 0,
                 ::sluice::plan_ir::ValidAttr());
  }]>];
  let extraClassDeclaration = [{
    /// Bytes of one element of `type`.
    static int64_t elementBytes(::mlir::Type type);
    int64_t elements() const;
    /// Bytes from the first to one past the last element.
    int64_t spanBytes() const;
    /// True without strides, or with the dense row-major ones.
    bool isDense() const;
    ::sluice::plan_ir::ViewAttr onBuffer(::mlir::FlatSymbolRefAttr other, int64_t newOffset) const;
  }];
}

#endif // SLUICE_DIALECT_PLAN_PLANDIALECT_TD
