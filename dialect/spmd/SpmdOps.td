//===- SpmdOps.td - all families of the spmd dialect --------------------------------===//
#ifndef SLUICE_DIALECT_SPMD_SPMDOPS_TD
#define SLUICE_DIALECT_SPMD_SPMDOPS_TD

include "dialect/spmd/ops/Structure.td"
include "dialect/spmd/ops/Collective.td"
include "dialect/spmd/ops/Reshard.td"

#endif // SLUICE_DIALECT_SPMD_SPMDOPS_TD
