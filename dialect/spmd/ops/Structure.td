//===- Structure.td - the mesh, sections, micro-batches ----------------------------===//
#ifndef SLUICE_DIALECT_SPMD_OPS_STRUCTURE_TD
#define SLUICE_DIALECT_SPMD_OPS_STRUCTURE_TD

include "dialect/spmd/SpmdDialect.td"
include "mlir/IR/SymbolInterfaces.td"

def Spmd_MeshOp : Spmd_Op<"mesh", [Symbol]> {
  let summary = "the mesh of ranks: named axes, the first outermost";
  let description = [{
    ```mlir
    spmd.mesh @mesh <replicate = 1, shard = 4, tensor = 1>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes, DenseI64ArrayAttr:$sizes);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Spmd_UnitOp : Spmd_Op<"unit", [Symbol]> {
  let summary = "a unit: parameters gathered and reduced together";
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$parameters, UnitAttr:$reshard_after_forward);
  let assemblyFormat = "$sym_name $parameters attr-dict";
}

def Spmd_SectionOp : Spmd_Op<"section", [SingleBlockImplicitTerminator<"YieldOp">, NoRegionArguments]> {
  let summary = "straight-line ops with a repeat count";
  let description = [{
    Results are those of the last repetition. Ops in it may carry `spmd.when` (`first`, `not_first`, `last`, `not_last`):
    in which repetitions they are issued; absent: in all.
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$repeat);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Spmd_Tensor>:$results);
  let assemblyFormat = "$name `repeat` $repeat (`->` type($results)^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Spmd_YieldOp : Spmd_Op<"yield", [Pure, ReturnLike, Terminator, HasParent<"SectionOp">]> {
  let summary = "the results of a section";
  let arguments = (ins Variadic<Spmd_Tensor>:$values);
  let builders = [OpBuilder<(ins), [{}]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Spmd_AccumulateOp : Spmd_Op<"accumulate", [AllShapesMatch<["operand", "sum"]>]> {
  let summary = "the sum of the operand over the repetitions so far";
  let description = [{
    ((x0 + x1) + x2) + ...; its memory lives through the whole section. Lowered to a launch of kernel `accumulate` with
    attribute first = 1 in the first repetition and first = 0 in the others. With one repetition it is folded away.
  }];
  let arguments = (ins Spmd_Tensor:$operand);
  let results = (outs Spmd_Tensor:$sum);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($sum)";
}

#endif // SLUICE_DIALECT_SPMD_OPS_STRUCTURE_TD
