//===- Arc4random.cpp - a function that glibc has from version 2.36 on -----------------===//
//
// LLVM's static libraries call it. The definition here is that of the library alone, which then runs with glibc 2.35.
// No header that declares the function is included.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <sys/random.h>

// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" [[gnu::visibility("hidden")]] std::uint32_t arc4random() {
  std::uint32_t number = 0;
  // Only a signal ends the call early.
  while (getrandom(&number, sizeof number, 0) != sizeof number)
    ;
  return number;
}
