//===- LargestRequest.cpp - the largest request of memory -------------------------===//
//
// See LargestRequest.h. In a separate file from the tests, so that no compiler removes an allocation.
//
//===----------------------------------------------------------------------===//
#include "LargestRequest.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::size_t> largest = 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
bool sluice::test::countsRequests() { return false; }
#else
bool sluice::test::countsRequests() { return true; }

void *operator new(std::size_t bytes) {
  if (bytes > largest.load(std::memory_order_relaxed))
    largest = bytes;
  if (void *memory = std::malloc(bytes != 0 ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
#endif

void sluice::test::forgetRequests() { largest = 0; }
std::size_t sluice::test::largestRequest() { return largest; }
