//===- Toy.h - a collective that is in no dialect of Sluice      ----------------------===//
#ifndef SLUICE_TEST_UNIT_PASSES_COLLECTIVE_TOY_H
#define SLUICE_TEST_UNIT_PASSES_COLLECTIVE_TOY_H

#include "dialect/spmd/Spmd.h"

#include "test/unit/passes/collective/ToyDialect.h.inc"

#define GET_OP_CLASSES
#include "test/unit/passes/collective/ToyOps.h.inc"

#endif // SLUICE_TEST_UNIT_PASSES_COLLECTIVE_TOY_H
