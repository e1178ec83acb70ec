//===- ProcessTest.cpp - exceptions that no code catches -----------------------------------===//
#include "tools/Process.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <thread>

namespace sluice {
namespace {

/// Ends the process by an exception on another thread: GoogleTest catches those of its own.
template <typename Exception> void endBy(Exception exception) {
  prepareProcess();
  std::thread([&] { throw exception; }).join();
}

TEST(ProcessDeathTest, AFailedAllocationIsAnError) {
  EXPECT_EXIT(endBy(std::bad_alloc()), testing::ExitedWithCode(5),
              "^error: there is not enough memory\nnote: raise the limit \\(ulimit -v, or that of the container\\), or "
              "give a smaller plan or file\n$");
  EXPECT_EXIT(endBy(std::bad_array_new_length()), testing::ExitedWithCode(5), "^error: there is not enough memory\n");
}

TEST(ProcessDeathTest, AnotherExceptionIsABug) {
  const char *const text = "^error: unexpected exception, please report\n$";
  EXPECT_EXIT(endBy(std::runtime_error("x")), testing::ExitedWithCode(70), text);
  EXPECT_EXIT(endBy(1), testing::ExitedWithCode(70), text);
  // Without an exception.
  EXPECT_EXIT((prepareProcess(), std::terminate()), testing::ExitedWithCode(70), text);
}

} // namespace
} // namespace sluice
