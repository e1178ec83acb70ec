//===- Structure.td - parameters, modules, steps ---------------------------------===//
#ifndef SLUICE_DIALECT_MODEL_OPS_STRUCTURE_TD
#define SLUICE_DIALECT_MODEL_OPS_STRUCTURE_TD

include "dialect/model/ModelDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Model_ParameterOp : Model_AnyOp<"parameter", [Symbol]> {
  let summary = "a parameter of the model";
  let description = [{
    A whole parameter and its initializer, keyed by seed and global element index. `init` is one of `zeros`, `ones`,
    `constant` (a), `normal` (mean a, standard deviation b), `uniform` (low a, high b). Attributes that passes add:
    `unit`, `dim`. Row `padding` of an embedding's table begins as zeros. With `state` it is no parameter but something that the forward itself keeps (batch norm's running
    statistics): of any element type, whole and each rank's own, without gradient, written by `model.write` in the forward.
    ```mlir
    model.parameter @wte.weight : tensor<256x64xf32> normal(0.0, 0.02)
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Model_Tensor>:$type, StrAttr:$init,
                       DefaultValuedAttr<F64Attr, "0.0">:$a, DefaultValuedAttr<F64Attr, "0.0">:$b,
                       OptionalAttr<StrArrayAttr>:$aliases, UnitAttr:$frozen,
                       OptionalAttr<I64Attr>:$padding);
  let extraClassDeclaration = [{
    /// Kept by the forward, and no parameter.
    bool isState() { return (*this)->hasAttr("state"); }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Model_ReadOp : Model_AnyOp<"read", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a parameter, or of a state beside it";
  let description = [{
    The value at the start of the step. `state` names an optimizer state of the parameter. A result of another float
    type is the value rounded to that type (compute precision).
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, OptionalAttr<StrAttr>:$state);
  let results = (outs Model_Tensor:$value);
  let assemblyFormat = "$parameter (`state` $state^)? attr-dict `:` type($value)";
}

def Model_WriteOp : Model_AnyOp<"write", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value that a parameter, or a state beside it, has after the step";
  let description = [{At most one in a function for each parameter and state.}];
  let arguments = (ins FlatSymbolRefAttr:$parameter, OptionalAttr<StrAttr>:$state, Model_Tensor:$value);
  let assemblyFormat = "$parameter (`state` $state^)? `,` $value attr-dict `:` type($value)";
}

def Model_BlockOp : Model_AnyOp<"block", [SingleBlockImplicitTerminator<"YieldOp">, NoRegionArguments,
                                          RecursiveMemoryEffects]> {
  let summary = "a module of the source";
  let description = [{
    The boundary of a module. The outermost block is the default sharding unit and recompute grain; blocks nest. The
    model phase flattens blocks first: from then on each op names its path in `model.block`.
  }];
  let arguments = (ins StrAttr:$name);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Model_Tensor>:$results);
  let assemblyFormat = "$name (`->` type($results)^)? attr-dict-with-keyword $body";
}

def Model_CheckpointOp : Model_AnyOp<"checkpoint", [SingleBlockImplicitTerminator<"YieldOp">, NoRegionArguments,
                                                    RecursiveMemoryEffects]> {
  let summary = "what the author wants recomputed in the backward";
  let description = [{Kept by `recompute.policy = "marked"`, else without effect. Regions nest.}];
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Model_Tensor>:$results);
  let assemblyFormat = "(`->` type($results)^)? attr-dict-with-keyword $body";
}

def Model_RecomputeOp : Model_AnyOp<"recompute", [SingleBlockImplicitTerminator<"YieldOp">, NoRegionArguments]> {
  let summary = "forward ops run again in the backward";
  let description = [{
    Made by the recompute pass. Its results are the values that the backward reads; what it captures is what the forward
    saves. Not pure: nothing may merge it with the forward. Inlined when the spmd phase begins; then ops carry
    `model.recompute`.
  }];
  let arguments = (ins StrAttr:$name);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Model_Tensor>:$results);
  let assemblyFormat = "$name (`->` type($results)^)? attr-dict-with-keyword $body";
}

def Model_YieldOp : Model_AnyOp<"yield", [Pure, ReturnLike, Terminator,
    ParentOneOf<["BlockOp", "CheckpointOp", "RecomputeOp"]>]> {
  let summary = "the results of a region";
  let arguments = (ins Variadic<Model_Tensor>:$values);
  let builders = [OpBuilder<(ins), [{ /* no values */ }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

def Model_GradientOp : Model_AnyOp<"gradient", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>, AllTypesMatch<["local", "mean"]>]> {
  let summary = "from one micro-batch's gradient to the step's";
  let description = [{
    The operand is the gradient of a parameter on this rank's micro-batch, already divided by the number of
    micro-batches. The result is the sum over micro-batches and the mean over data-parallel ranks. The sharding phase
    replaces it by accumulation and a reduction.
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, Model_FloatTensor:$local);
  let results = (outs Model_FloatTensor:$mean);
  let assemblyFormat = "$parameter `,` $local attr-dict `:` type($local)";
}

def Model_StepMeanOp : Model_AnyOp<"step_mean", [Pure, AllTypesMatch<["local", "mean"]>]> {
  let summary = "the mean of a scalar over micro-batches and data-parallel ranks";
  let arguments = (ins Model_Scalar:$local);
  let results = (outs Model_Scalar:$mean);
  let assemblyFormat = "$local attr-dict `:` type($local)";
}

#endif // SLUICE_DIALECT_MODEL_OPS_STRUCTURE_TD
