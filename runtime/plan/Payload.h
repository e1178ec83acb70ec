//===- Payload.h - the memory that unpacking a plan would allocate -----------------===//
//
// FlatBuffers' verifier lets tables share vectors and strings; unpacking copies them for each. This walk over the
// verified bytes bounds the copy before it is made. It also checks what the verifier does not: the alignment of the
// elements of vectors.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_PLAN_PAYLOAD_H
#define SLUICE_RUNTIME_PLAN_PAYLOAD_H

#include "runtime/plan/Plan.h"

namespace sluice {

/// True where the bytes of all vectors and strings, counted once for each table that refers to them, are at most
/// `limit`, and vectors are aligned to their elements. The plan's bytes begin at a multiple of 16.
bool payloadFits(const plan::Plan &plan, std::uint64_t limit);

} // namespace sluice

#endif // SLUICE_RUNTIME_PLAN_PAYLOAD_H
