//===- LargestRequest.h - the largest request of memory ---------------------------===//
//
// The program's operator new records the largest size that was requested.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_PLAN_LARGESTREQUEST_H
#define SLUICE_TEST_UNIT_PLAN_LARGESTREQUEST_H

#include <cstddef>

namespace sluice::test {

/// False under sanitizers, which replace operator new.
bool countsRequests();
void forgetRequests();
/// In bytes, since the last forgetRequests().
std::size_t largestRequest();

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_PLAN_LARGESTREQUEST_H
