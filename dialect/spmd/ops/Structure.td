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

    **Constraints:** (C1) one size for each axis; (C2) sizes are positive, and so is their product; (C3) axes have
    distinct names; (C4) a module has one mesh.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes, DenseI64ArrayAttr:$sizes);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Spmd_UnitOp : Spmd_Op<"unit", [Symbol]> {
  let summary = "a unit: parameters gathered and reduced together";
  let description = [{
    With `reshard_after_forward` what was gathered for the forward is released behind it, and gathered again for the
    backward: from the shards, or over the axes `piece`, along which a piece of it has been kept. `reshard_before_backward`
    releases when the backward begins. `keep_after_backward` keeps what is gathered from one repetition to the next.
    `skip_backward`: the backward does not read the parameters, and gathers none. `blocks` are the paths of the blocks
    whose ops make up the unit, where it is not the block of its own name. Gradients are reduced in the last repetition;
    with `sync` `every` in every one, with `reduce_scatter_only` within the shards in every one and over replicas in the
    last, with `sync_in` in those repetitions. They are divided by `divide`, or averaged over all data-parallel ranks. The
    unit that holds what no block holds is `root`.
    ```mlir
    spmd.unit @h.0 [@h.0.w, @h.0.b] {reshard_after_forward}
    ```

    **Constraints:** (C1) each element is a reference to a symbol, distinct from the others; (C2) `piece` stands only with
    `reshard_after_forward`; (C3) `sync` and `sync_in` exclude each other.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$parameters, UnitAttr:$reshard_after_forward,
                       OptionalAttr<StrArrayAttr>:$piece, UnitAttr:$reshard_before_backward,
                       UnitAttr:$keep_after_backward, UnitAttr:$skip_backward, OptionalAttr<StrArrayAttr>:$blocks,
                       OptionalAttr<Spmd_SyncModeAttr>:$sync, OptionalAttr<Spmd_WhenAttr>:$sync_in,
                       OptionalAttr<F64Attr>:$divide);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::ArrayAttr":$parameters), [{
    build($_builder, $_state, $_builder.getStringAttr(name), parameters, /*reshard_after_forward=*/nullptr,
          /*piece=*/nullptr, /*reshard_before_backward=*/nullptr, /*keep_after_backward=*/nullptr,
          /*skip_backward=*/nullptr, /*blocks=*/nullptr, /*sync=*/nullptr, /*sync_in=*/nullptr,
          /*divide=*/nullptr);
  }]>];
  let assemblyFormat = "$sym_name $parameters attr-dict";
  let hasVerifier = 1;
}

def Spmd_SectionOp : Spmd_Op<"section", [SingleBlockImplicitTerminator<"YieldOp">, NoRegionArguments]> {
  let summary = "straight-line ops with a repeat count";
  let description = [{
    Results are those of the last repetition. Ops in it may carry `spmd.when` (`#spmd.when<last>`,
    `#spmd.when<[0, 2]>`): in which repetitions they are issued; absent: in all.
    ```mlir
    %r = spmd.section "microbatch" repeat 4 -> tensor<4xf32> {
      %0 = spmd.accumulate %x : tensor<4xf32> -> tensor<4xf32>
      spmd.yield %0 : tensor<4xf32>
    }
    ```

    **Constraints:** (C1) `repeat` is positive; (C2) the types of results are those of what is yielded; (C3) `spmd.when` is
    not `all`; (C4) sections do not nest.
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
  let builders = [OpBuilder<(ins), [{ /* no values */ }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Spmd_AccumulateOp : Spmd_Op<"accumulate", [AllShapesMatch<["operand", "sum"]>]> {
  let summary = "the sum of the operand over the repetitions so far";
  let description = [{
    ((x0 + x1) + x2) + ...; its memory lives through the whole section. It begins anew in the repetitions `starts`, else in the first in which it is issued. Lowered to launches of kernel `accumulate`, with
    attribute first = 1 where it begins and first = 0 elsewhere. With one repetition it is folded away.
    ```mlir
    %s = spmd.accumulate %g : tensor<4xf32> -> tensor<4xf32>
    ```

    **Constraints:** (C1) the sum has the operand's element type, or f32; (C2) it is in a section; (C3)
    `starts` is a word or increasing repetitions from 0.
  }];
  let arguments = (ins Spmd_Tensor:$operand, OptionalAttr<Spmd_WhenAttr>:$starts);
  let results = (outs Spmd_Tensor:$sum);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($sum)";
  let hasVerifier = 1;
}

#endif // SLUICE_DIALECT_SPMD_OPS_STRUCTURE_TD
