//===- Structure.td - the mesh, sections, micro-batches ----------------------------===//
#ifndef SLUICE_DIALECT_SPMD_OPS_STRUCTURE_TD
#define SLUICE_DIALECT_SPMD_OPS_STRUCTURE_TD

include "dialect/spmd/SpmdDialect.td"
include "mlir/IR/SymbolInterfaces.td"

def Spmd_MeshOp : Spmd_Op<"mesh"> {
  let summary = "the mesh of ranks: named axes, the first outermost";
  let description = [{
    ```mlir
    spmd.mesh @mesh <replicate = 1, shard = 4, tensor = 1>
    ```

    Named axes, the first outermost in the order of ranks. The groups of a collective follow from its axes. The role of an axis
    (`replicate`, `shard`, `tensor`, `expert`) states what its ranks divide. The name of an axis or sub-axis (`shard.0`) that is the word of a role
    implies it; another name has its role in parentheses: `rows(shard) = 4`.

    **Constraints.** (mesh_c1) one size and one role for each axis. (mesh_c2) sizes are positive, and so is their product in 63 bits. (mesh_c3) axes have distinct
    names. (mesh_c4) a module has one mesh.
  }];
  let arguments = (ins SymbolNameAttr:$name, StrArrayAttr:$axes,
                       TypedArrayAttrBase<Spmd_AxisRoleAttr, "list of roles">:$roles,
                       ConfinedAttr<DenseI64ArrayAttr, [DenseArrayStrictlyPositive<DenseI64ArrayAttr>]>:$sizes);
  let assemblyFormat = "$name custom<MeshAxes>($axes, $roles, $sizes) attr-dict";
  let hasVerifier = 1;
}

def Spmd_UnitOp : Spmd_Op<"unit"> {
  let summary = "a unit: parameters gathered and reduced together";
  let description = [{
    ```mlir
    module {
      spmd.unit @h.0 [@h.0.w, @h.0.b] {reshard_after_forward}
    }
    ```

    A unit is a set of parameters that are gathered and reduced together. The root unit contains the parameters that are in no block. It has the
    name `root`, or `(root)` after another name. A unit may have the name of a parameter or function.

    | attribute | meaning |
    |---|---|
    | `reshard_after_forward` | released after the forward, gathered again for the backward |
    | `kept_axes` | axes along which a shard is kept then; the next gather runs over these axes |
    | `reshard_before_backward` | released when the backward begins, if it is still gathered |
    | `keep_after_backward` | gathered in the first repetition, released in the last |
    | `skip_backward` | the backward does not read it and gathers nothing |
    | `blocks` | paths of the blocks whose ops belong to the unit, if it is not the block of that name |
    | `sync` | gradients are reduced in `every` repetition; with `reduce_scatter_only` over replicas only in the last; absent: in the last |
    | `sync_in` | gradients are reduced in these repetitions, as `#spmd.when<[0, 2]>` |
    | `divide` | divisor of the gradients; absent: the number of data-parallel ranks |

    **Constraints.** (unit_c1) each element is a reference to a symbol, distinct from the others. (unit_c2) `kept_axes` requires
    `reshard_after_forward`. (unit_c3) `sync` and `sync_in` exclude each other. (unit_c4) units have distinct names. (unit_c5) at most one unit is the root.
  }];
  let arguments = (ins SymbolNameAttr:$name, UnitAttr:$root, FlatSymbolRefArrayAttr:$parameters, UnitAttr:$reshard_after_forward,
                       OptionalAttr<StrArrayAttr>:$kept_axes, UnitAttr:$reshard_before_backward,
                       UnitAttr:$keep_after_backward, UnitAttr:$skip_backward, OptionalAttr<StrArrayAttr>:$blocks,
                       OptionalAttr<Spmd_SyncModeAttr>:$sync, OptionalAttr<Spmd_WhenAttr>:$sync_in,
                       OptionalAttr<F64Attr>:$divide);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "bool":$root, "::mlir::ArrayAttr":$parameters), [{
    build($_builder, $_state, $_builder.getStringAttr(name), root ? $_builder.getUnitAttr() : nullptr, parameters, /*reshard_after_forward=*/nullptr,
          /*kept_axes=*/nullptr, /*reshard_before_backward=*/nullptr, /*keep_after_backward=*/nullptr,
          /*skip_backward=*/nullptr, /*blocks=*/nullptr, /*sync=*/nullptr, /*sync_in=*/nullptr,
          /*divide=*/nullptr);
  }]>];
  let assemblyFormat = "$name custom<RootUnit>(ref($name), $root) $parameters attr-dict";
  let hasVerifier = 1;
}

def Spmd_SectionOp : Spmd_Op<"section", [SingleBlockImplicitTerminator<"YieldOp">, NoRegionArguments]> {
  let summary = "ops without control flow, with a repeat count";
  let description = [{
    ```mlir
    %r = spmd.section "microbatch" repeat 4 -> tensor<4xf32> {
      %0 = spmd.accumulate %x : tensor<4xf32> -> tensor<4xf32>
      spmd.yield %0 : tensor<4xf32>
    }
    ```

    A section is a list of ops with a repeat count and without control flow. Its results are those of the last repetition. A train entry has the sections `microbatch` and `update`.
    The name implies the kind (`microbatch`, `update`, `forward`, `init`); for another name it is `forward`, or in parentheses: `"step"(update)`.

    **Constraints.** (section_c1) `repeat` is positive. (section_c2) results have the types of the yielded values. (section_c3) `spmd.when` is not
    `all`. (section_c4) sections do not nest.
  }];
  let arguments = (ins StrAttr:$name, Spmd_SectionKindAttr:$kind, ConfinedAttr<I64Attr, [IntPositive]>:$repeat);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Spmd_Tensor>:$results);
  let assemblyFormat = "$name custom<SectionKind>(ref($name), $kind) `repeat` $repeat (`->` type($results)^)? attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    YieldOp getYield();
    /// The result for a value that the section yields.
    ::mlir::Value resultFor(::mlir::Value yielded);
    /// Replaces the section by one that yields these values, and returns it. A result for another value must have no use.
    SectionOp replaceYields(::llvm::ArrayRef<::mlir::Value> values);
  }];
  let hasVerifier = 1;
}

def Spmd_YieldOp : Spmd_Op<"yield", [Pure, ReturnLike, Terminator, HasParent<"SectionOp">]> {
  let summary = "the results of a section";
  let arguments = (ins Variadic<Spmd_Tensor>:$values);
  let builders = [OpBuilder<(ins), [{ /* no values */ }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Spmd_AccumulateOp : Spmd_Op<"accumulate", [AllShapesMatch<["operand", "sum"]>, HasParent<"SectionOp">]> {
  let summary = "the sum of the operand over the repetitions so far";
  let description = [{
    The sum of the operand over the repetitions so far, `((x0 + x1) + x2) + ...`, in the order of repetitions. The buffer of the sum is live for the full section.
    The sum restarts in the repetitions `starts`, by default in the first repetition in which the op is issued.

    **Constraints.** (accumulate_c1) the sum has the operand's element type, or f32. (accumulate_c2) it is in a section.
    (accumulate_c3) `starts` is a named set or increasing repetitions from 0.
  }];
  let arguments = (ins Spmd_Tensor:$operand, OptionalAttr<Spmd_WhenAttr>:$starts);
  let results = (outs Spmd_Tensor:$sum);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($sum)";
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_SPMD_OPS_STRUCTURE_TD
