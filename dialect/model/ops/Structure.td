//===- Structure.td - parameters, modules, steps ---------------------------------===//
#ifndef SLUICE_DIALECT_MODEL_OPS_STRUCTURE_TD
#define SLUICE_DIALECT_MODEL_OPS_STRUCTURE_TD

include "dialect/model/ModelDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Model_ParameterOp : Model_AnyOp<"parameter", [Symbol]> {
  let summary = "a parameter of the model";
  let description = [{
    **Semantics.** A parameter of the model, as a symbol. The initial value of an element is a function of the run's seed, the position of the parameter in the module, and the global index of the
    element, so it does not depend on the sharding.

    | initializer | value |
    |---|---|
    | `zeros`, `ones` | 0, 1 |
    | `constant(a)` | a |
    | `normal(a, b)` | normally distributed, mean a, standard deviation b |
    | `uniform(a, b)` | uniformly distributed in [a, b) |
    | `undefined` | none: weights are loaded before the first step |

    **Attributes.** `type` (tensor of float), `aliases` (other names of the same weights, for reading and writing weight files), `frozen` (no gradient, no
    optimizer state), `padding` (the row of an embedding's table whose first values are zeros), `state` (a value that the forward updates and not a parameter, such as batch norm's running statistics: of any element type, unsharded, separate on each
    rank, without gradient, never gathered, averaged over ranks only with `statistics.sync`, written by `write` in the forward, once a micro-batch; saved as `rank0.NAME`, `rank1.NAME`, ...).

    **Constraints.** (parameter_c1) the initializer is in the table. (parameter_c2) b of `normal` is at least 0; a of `uniform` is at most b. (parameter_c3) the type is one
    of floats, or there is `state`; the initializer of a state is not random. (parameter_c4) `padding` requires a tensor of rank 2 that is `normal` or `uniform`, and is one of its rows.

    ```mlir
    model.parameter @wte.weight : tensor<256x64xf32> normal(0.0, 0.02) aliases ["lm_head.weight"]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Model_Tensor>:$type, OptionalAttr<Model_InitializerKindAttr>:$init,
                       DefaultValuedAttr<F64Attr, "0.0">:$a, DefaultValuedAttr<F64Attr, "0.0">:$b,
                       OptionalAttr<StrArrayAttr>:$aliases, UnitAttr:$frozen,
                       OptionalAttr<I64Attr>:$padding, UnitAttr:$state);
  let extraClassDeclaration = [{
    /// A value that the forward updates, not a parameter.
    bool isState() { return getState(); }
    /// The initial elements are random numbers.
    bool isRandom() {
      std::optional<InitializerKind> init = getInit();
      return init == InitializerKind::normal || init == InitializerKind::uniform;
    }
  }];
  let assemblyFormat = [{
    $sym_name `:` $type custom<Initializer>($init, $a, $b) (`aliases` $aliases^)? (`frozen` $frozen^)? (`state` $state^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Model_ReadOp : Model_AnyOp<"read", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a parameter, or of an optimizer state of it";
  let description = [{
    **Semantics.** The value that a parameter, or its optimizer state `state`, has at the start of the step. If the result has a different float
    type, it is the value rounded to that type.

    **Outputs.** `value`: tensor of float.

    **Constraints.** (read_c1) the symbol is a `model.parameter` of this module or of an enclosing one. (read_c2) `value` has the parameter's shape and a float element type.

    ```mlir
    %w = model.read @wte.weight : tensor<256x64xbf16>
    %m = model.read @wte.weight state "exp_avg" : tensor<256x64xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, OptionalAttr<StrAttr>:$state);
  let results = (outs Model_Tensor:$value);
  let assemblyFormat = "$parameter (`state` $state^)? attr-dict `:` type($value)";
}

def Model_WriteOp : Model_AnyOp<"write", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value that a parameter, or an optimizer state of it, has after the step";
  let description = [{
    **Semantics.** The value that a parameter or state has after the step. At most one in a function for each.

    **Inputs.** `value`: tensor of float.

    **Constraints.** (write_c1) as read_c1. (write_c2) as read_c2.

    ```mlir
    model.write @wte.weight state "exp_avg", %m : tensor<256x64xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, OptionalAttr<StrAttr>:$state, Model_Tensor:$value);
  let assemblyFormat = "$parameter (`state` $state^)? `,` $value attr-dict `:` type($value)";
}

/// An op with one region, whose yielded values are its results.
class Model_RegionOp<string mnemonic, list<Trait> traits, dag name>
    : Model_AnyOp<mnemonic, !listconcat([SingleBlockImplicitTerminator<"YieldOp">, NoRegionArguments], traits)> {
  let arguments = name;
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Model_Tensor>:$results);
  let assemblyFormat = !if(!empty(name), "", "$name ") # "(`->` type($results)^)? attr-dict-with-keyword $body";
}

def Model_BlockOp : Model_RegionOp<"block", [RecursiveMemoryEffects], (ins StrAttr:$name)> {
  let summary = "a module of the source";
  let description = [{
    **Semantics.** A module of the source. Its region is run once, in place; the results are the yielded values. The outermost block is the default sharding unit
    and recompute granularity. The model phase flattens blocks: then each op names its path in `model.block`, components joined by `/`.

    ```mlir
    %y = model.block "h.0" -> tensor<4x64xf32> {
      %z = model.tanh %x : tensor<4x64xf32>
      model.yield %z : tensor<4x64xf32>
    }
    ```
  }];
}

def Model_CheckpointOp : Model_RegionOp<"checkpoint", [RecursiveMemoryEffects], (ins)> {
  let summary = "ops to recompute in the backward";
  let description = [{
    **Semantics.** A block without a name that marks ops to recompute in the backward with `recompute.policy = "marked"`; otherwise it has no effect. Nests.

    ```mlir
    %y = model.checkpoint -> tensor<4x64xf32> {
      model.yield %x : tensor<4x64xf32>
    }
    ```
  }];
}

def Model_RecomputeOp : Model_RegionOp<"recompute", [], (ins StrAttr:$name)> {
  let summary = "forward ops run again in the backward";
  let description = [{
    **Semantics.** Forward ops that run again in the backward. The results are the values that the backward reads; the captured values are those that the forward keeps. CSE
    never merges it with the forward. Created by the recompute pass; the sharding phase inlines it.

    ```mlir
    %y = model.recompute "h.0" -> tensor<4x64xf32> {
      %z = model.tanh %x : tensor<4x64xf32>
      model.yield %z : tensor<4x64xf32>
    }
    ```
  }];
}

def Model_YieldOp : Model_AnyOp<"yield", [Pure, ReturnLike, Terminator,
    ParentOneOf<["BlockOp", "CheckpointOp", "RecomputeOp"]>]> {
  let summary = "the results of a region";
  let description = [{
    **Semantics.** The results of the enclosing region.

    **Constraints.** (yield_c1) its values have the types of the results of the enclosing op, in order.
  }];
  let arguments = (ins Variadic<Model_Tensor>:$values);
  let builders = [OpBuilder<(ins), [{ /* no values */ }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

def Model_GradientOp : Model_AnyOp<"gradient", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>, AllTypesMatch<["local", "mean"]>]> {
  let summary = "the gradient of the step from that of one micro-batch";
  let description = [{
    **Semantics.** Returns the gradient of the step for a parameter: the sum over micro-batches and the mean over data-parallel ranks of the operand, which is
    the gradient of one micro-batch divided by the number of micro-batches. The sharding phase replaces it by an accumulation and a reduction.

    **Constraints.** (gradient_c1) as read_c1. (gradient_c2) as read_c2. Operand and result have one type.

    ```mlir
    %mean = model.gradient @wte.weight, %local : tensor<256x64xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, Model_FloatTensor:$local);
  let results = (outs Model_FloatTensor:$mean);
  let assemblyFormat = "$parameter `,` $local attr-dict `:` type($local)";
}

def Model_StepMeanOp : Model_AnyOp<"step_mean", [Pure, AllTypesMatch<["local", "mean"]>]> {
  let summary = "the mean of a scalar over micro-batches and data-parallel ranks";
  let description = [{
    **Semantics.** The mean of a scalar of f32 or f64 over micro-batches and data-parallel ranks.

    ```mlir
    %mean = model.step_mean %loss : tensor<f32>
    ```
  }];
  let arguments = (ins Model_Scalar:$local);
  let results = (outs Model_Scalar:$mean);
  let assemblyFormat = "$local attr-dict `:` type($local)";
}

#endif // SLUICE_DIALECT_MODEL_OPS_STRUCTURE_TD
