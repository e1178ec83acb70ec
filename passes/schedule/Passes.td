//===- Passes.td - the schedule stage: order of issue, streams, events ---------------===//
#ifndef SLUICE_PASSES_SCHEDULE_PASSES_TD
#define SLUICE_PASSES_SCHEDULE_PASSES_TD

include "passes/recipe/RecipeOptions.td"

//===----------------------------------------------------------------------===//
// Phase prefetch: on spmd, the order of issue
//===----------------------------------------------------------------------===//

def HoistGathers : Pass<"spmd-hoist-gathers", "::mlir::ModuleOp"> {
  let summary = "issues gathers before their use, by explicit distances";
  let description = [{
    In train entries and forward entries the start of a unit's gather moves up from its use to the use of an earlier
    unit, directly after that use's wait: `schedule.forward_prefetch` and `schedule.backward_prefetch` units earlier, in
    the order in which units are used. The unit `root` prefetches exactly one unit in the backward. With
    `gradient.reduce_per_pass` the backward's order is that of the forward, reversed, as in PyTorch FSDP. The copies and
    casts of a start's operands move too, and so does a copy to the device if nothing is gathered. Distance 0
    leaves every gather at its use.
    ```
    start root; wait root; start h.0; wait h.0; ...h.0...; start h.1; wait h.1; ...h.1...
    ==>
    start root; wait root; start h.0; wait h.0; start h.1; ...h.0...; wait h.1; ...h.1...
    ```
  }];
  let options = [RecipeOption<"forwardPrefetch", "schedule.forward_prefetch">,
                 RecipeOption<"backwardPrefetch", "schedule.backward_prefetch">,
                 RecipeOption<"reducePerPass", "gradient.reduce_per_pass">];
}

def SinkWaits : Pass<"spmd-sink-waits", "::mlir::ModuleOp"> {
  let summary = "waits for reductions as late as the number of buffers in flight allows";
  let description = [{
    The wait of a unit's gradient reduction moves down to directly before the start of the reduction that is
    `schedule.reduce_buffers` reductions later, or to the end of the section; the wait for a copy of reduced gradients to
    host memory likewise, by such copies. So a unit's gradients are reduced while the backward of the units before it
    runs.
    ```
    start r1; wait r1; ...; start r0; wait r0; yield
    ==>
    start r1; ...; wait r1; start r0; wait r0; yield
    ```
  }];
  let options = [RecipeOption<"reduceBuffers", "schedule.reduce_buffers">];
}

def OrderUpdates : Pass<"spmd-order-updates", "::mlir::ModuleOp"> {
  let summary = "orders updates like the gathers of the next step";
  let description = [{
    In the last section of an entry the updates of a unit's parameters move together, units in the order of their first
    gather, so that the next step's first gathers need not wait for the updates of other units.
    ```
    gather root; gather h.0; ...; update h.0; update root  ==>  gather root; gather h.0; ...; update root; update h.0
    ```
  }];
}

def MergeUpdates : Pass<"spmd-merge-updates", "::mlir::ModuleOp"> {
  let summary = "merges the updates of a unit's parameters";
  let description = [{
    Consecutive updates of a unit's parameters, with the same attributes, element type and shared
    operands, become one op (MergeOpInterface). Their operands are defined before the first of them, so no operand is live longer
    than until the last of them starts, and the next step's gather of the unit waits for no other work. Each
    update names its unit.
    Updates with another op between them (a copy between spaces, a cast) are not merged, because the operands of all of them
    would be live at the same time; nor are updates of parameters that are sharded along different axes.
    ```
    %p, %q = adamw %a, %b  |  %r, %s = adamw %c, %d  ==>  %p, %q, %r, %s = adamw %a, %b, %c, %d
    ```
  }];
}

def HoistUpdates : Pass<"spmd-hoist-updates", "::mlir::ModuleOp"> {
  let summary = "moves each update to the backward, after the reduction of its gradients";
  let description = [{
    Under `optimizer.in_backward` an update, with the ops of its section that only updates need, moves to the first
    section, after the last of its gradients and the last reader of its parameters; in a repeated section it is issued in
    the last repetition. The sum of powers of its gradients is computed before it, and the sum over all gradients adds
    these. An update that depends on a collective of its section stays.
    ```
    section "microbatch" { ...; yield %g0, %g1 }  section "update" { power_sum %g0, %g1; adamw %p0, %g0; adamw %p1, %g1 }
    ==>
    section "microbatch" { ...; %s1 = power_sum %g1; adamw %p1, %g1; ...; %s0 = power_sum %g0; adamw %p0, %g0; yield %s0, %s1 }
    section "update" { add %s1, %s0 }
    ```
  }];
  let options = [RecipeOption<"inBackward", "optimizer.in_backward">];
}

//===----------------------------------------------------------------------===//
// Phase lower: from spmd to the plan dialect
//===----------------------------------------------------------------------===//

def LowerToPlan : Pass<"plan-lower", "::mlir::ModuleOp"> {
  let summary = "lowers values to views of buffers and ops to instructions";
  let description = [{
    Every value gets a separate buffer, unless it is a view of its operand, reuses its operand's
    memory (updates in place, donation, all_reduce) or is an operand of a concatenation: then the op becomes copies into
    the windows of the result. The pass uses KernelOpInterface, ViewOpInterface, DestinationOpInterface and
    CostOpInterface; for collectives and copies CollectiveOpInterface, which has their streams too. They keep a token
    until events are inserted. Inputs are copied from the host at the start of the section that reads them. Outputs are
    copied to the host in the last section: at its start if an earlier section computes them, else as soon as they are
    computed. For a GPU the rows of values in half precision that library products read or write begin at multiples of
    16 bytes, and of 128 bytes from 512 columns (the logits of a vocabulary of odd size): libraries have fast kernels only
    for such rows.
    ```
    %y = model.relu %x  ==>  plan.launch "relu" ins [#plan.view<@x : 4xf32>] outs [#plan.view<@h.0.tmp.0 : 4xf32>] {}
    ```
  }];
  let dependentDialects = ["::sluice::plan_ir::PlanDialect"];
  let options = [RecipeOption<"deviceKind", "target.device">];
}

def PlaceDestinations : Pass<"plan-place-destinations", "::mlir::ModuleOp"> {
  let summary = "computes values directly in the window that they are copied to";
  let description = [{
    A buffer that one launch writes and one launch of kernel `copy` reads, into a window of another buffer, is replaced by
    that window, and the copy is erased.
    ```
    launch k outs [@a]; launch copy ins [@a] outs [@b offset 128]  ==>  launch k outs [@b offset 128]
    ```
  }];
}

def AccumulateInLaunches : Pass<"plan-accumulate-in-launches", "::mlir::ModuleOp"> {
  let summary = "computes results directly in the sums of which they are terms";
  let description = [{
    A result that is only accumulated over repetitions is computed into the sum, if the kernel can add to a sum (`sums`
    of its record): it is the sum's first value, and then the kernel has the sum as an input and adds to it in place. So
    does a product with the sum as its residual, and so do the gradients of biases, norms and embeddings, and that of the
    weight of a chunked loss.
    ```
    launch matmul outs [@a]; launch accumulate first ins [@a] outs [@b] {first}; launch accumulate ins [@a] outs [@b] {not_first}
    ==>
    launch matmul outs [@b] {first}; launch matmul residual [@b] outs [@b] {not_first}
    ```
    So is a value that is only added to another one, if the kernel adds to a sum in its memory: the two gradients of a tied
    embedding.
    ```
    launch matmul outs [@a]; launch embedding_grad outs [@b]; launch add ins [@a, @b] outs [@c]
    ==>
    launch matmul outs [@c]; launch embedding_grad sum [@c] outs [@c]
    ```
  }];
}

def FuseColumnSums : Pass<"plan-fuse-column-sums", "::mlir::ModuleOp"> {
  let summary = "sums dx of a layer norm over rows in the launch that computes it";
  let description = [{
    For `target.device = "cuda"`. The gradient of a bias that was added to the input of a layer norm, as those of a block's
    last projections are, is the sum of dx over rows. The launch that computes dx also computes this sum, so that dx is not
    read for it: if the sum has the launch's stream and repetitions, and its result is not used between the launches.
    Before `plan-place-destinations`, so that the result has separate memory.
    ```
    launch layer_norm_grad outs [@x, @w, @b]; launch reduce_sum ins [@x] outs [@c]
    ==>
    launch layer_norm_grad_and_sum outs [@x, @w, @b, @c]
    ```
  }];
  let options = [RecipeOption<"deviceKind", "target.device">];
}

def FuseLoss : Pass<"plan-fuse-loss", "::mlir::ModuleOp"> {
  let summary = "computes a cross entropy and its gradient by one launch";
  let description = [{
    The launch of a loss also computes its gradient: if the factor of the gradient is written before it, or by a launch without operands, and no instruction between them
    writes the logits or the targets or uses the memory of the gradient.
    ```
    launch cross_entropy ins [@x, @t] outs [@l, @s]; launch constant outs [@d]; launch cross_entropy_grad ins [@d, @x, @t, @s] outs [@y]
    ==>
    launch constant outs [@d]; launch cross_entropy_and_grad ins [@x, @t, @d] outs [@l, @s, @y]
    ```
  }];
  let options = [RecipeOption<"deviceKind", "target.device">];
}

//===----------------------------------------------------------------------===//
// Phase streams: on which stream, after which event
//===----------------------------------------------------------------------===//

def ChooseKernels : Pass<"plan-choose-kernels", "::mlir::ModuleOp"> {
  let summary = "chooses the library of attention";
  let description = [{
    For `target.device = "cuda"` and `target.arch = "sm_90"`, launches of `attention` and `attention_grad` get the
    attribute `cudnn` unless `kernels.attention` is `"own"`. Operands that cuDNN does not support are an error for
    `"cudnn"`, and keep Sluice's kernel for `"auto"`. `rows` of `attention_grad` is the largest divisor of the batch whose
    workspace is at most 256 MiB.
    ```
    launch attention ins [..] outs [..] {causal = 1}  ==>  launch attention ins [..] outs [..] {causal = 1, cudnn = 1}
    ```
  }];
  let options = [RecipeOption<"attention", "kernels.attention">,
                 RecipeOption<"deviceKind", "target.device">,
                 RecipeOption<"architecture", "target.arch">];
}

def AssignStreams : Pass<"plan-assign-streams", "::mlir::ModuleOp"> {
  let summary = "assigns a stream to each instruction and a workspace to each launch";
  let description = [{
    `plan-lower` has assigned the streams of collectives, transfers and host work. Copies within host memory are on `host`,
    all other instructions on `compute`. A launch's workspace is the catalogue's cap for its shapes, `target.threads` and
    `target.isa`; a stream's is the largest of its launches. A matrix product between the start of a collective and its
    await leaves `collective.max_ctas` SMs to it, unless copy engines do the collective (`collective.copy_engines`).
  }];
  let dependentDialects = ["::sluice::plan_ir::PlanDialect"];
  let options = [RecipeOption<"deviceKind", "target.device">,
                 RecipeOption<"threadCount", "target.threads">,
                 RecipeOption<"instructionSet", "target.isa">,
                 RecipeOption<"maxCtas", "collective.max_ctas">,
                 RecipeOption<"copyEngines", "collective.copy_engines">];
}

def InsertEvents : Pass<"plan-insert-events", "::mlir::ModuleOp"> {
  let summary = "replaces tokens of collectives and copies by events between streams";
  let description = [{
    A collective waits for the compute position at which it is issued; compute waits for it at its
    `plan.await`. So does a copy, which also waits for the host; the stream of gathers waits for a chained copy, the
    stream of the next copy waits for a chained collective. Host work waits for compute. plan-elide-events erases
    redundant events.
    ```
    collective on @gather {token = 1}; ...; await 1
    ==>
    record 0 on @compute; wait 0 on @gather; collective on @gather; record 1 on @gather; ...; wait 1 on @compute
    ```
  }];
}

def ElideEvents : Pass<"plan-elide-events", "::mlir::ModuleOp"> {
  let summary = "erases waits that other waits imply, and records without a wait";
}

def VerifyStreams : Pass<"plan-verify-streams", "::mlir::ModuleOp"> {
  let summary = "verifies that every instruction has a stream and every conflict between streams is ordered";
  let description = [{Issues two runs of each entry point to a `StreamOrder` and diagnoses the first race on a buffer. Changes nothing.}];
}

#endif // SLUICE_PASSES_SCHEDULE_PASSES_TD
