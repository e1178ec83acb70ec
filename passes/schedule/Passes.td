//===- Passes.td - the schedule stage: order of issue, streams, events ---------------===//
#ifndef SLUICE_PASSES_SCHEDULE_PASSES_TD
#define SLUICE_PASSES_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Phase prefetch: on spmd, the order of issue
//===----------------------------------------------------------------------===//

def HoistGathers : Pass<"spmd-hoist-gathers", "::mlir::ModuleOp"> {
  let summary = "issues gathers ahead of their use, by explicit distances";
  let description = [{
    In train entries and forward entries the start of a unit's gather moves up from its use to the use of an earlier
    unit, directly behind that use's wait: `schedule.forward_prefetch` and `schedule.backward_prefetch` units ahead, in
    the order in which units are used. The unit `root` prefetches exactly one unit in the backward. The cast that makes
    a start's operand moves along. Distance 0 leaves every gather at its use.
    ```
    start root; wait root; start h.0; wait h.0; ...h.0...; start h.1; wait h.1; ...h.1...
    ==>
    start root; wait root; start h.0; wait h.0; start h.1; ...h.0...; wait h.1; ...h.1...
    ```
  }];
}

def SinkWaits : Pass<"spmd-sink-waits", "::mlir::ModuleOp"> {
  let summary = "waits for reductions as late as the number of buffers in flight allows";
  let description = [{
    The wait of a unit's gradient reduction moves down to right before the start of the reduction that is
    `schedule.reduce_buffers` reductions later, or to the end of the section. So a unit's gradients are reduced while the
    backward of the units before it runs.
    ```
    start r1; wait r1; ...; start r0; wait r0; yield
    ==>
    start r1; ...; wait r1; start r0; wait r0; yield
    ```
  }];
}

#endif // SLUICE_PASSES_SCHEDULE_PASSES_TD
