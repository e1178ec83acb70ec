//===- Process.cpp - the process of a tool ------------------------------------------------===//
#include "tools/Process.h"

#include "runtime/base/Text.h"
#include "tools/CommandLine.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <new>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace sluice {

/// An exception that no code catches, on any thread. The library throws none: it is a failed allocation, or a bug.
[[noreturn]] static void endAtException() {
  int code = static_cast<int>(StatusCode::internal);
  std::string_view text = "error: unexpected exception, please report\n";
  try {
    if (const std::exception_ptr exception = std::current_exception())
      std::rethrow_exception(exception);
  } catch (const std::bad_alloc &) {
    code = static_cast<int>(StatusCode::failed);
    text = "error: there is not enough memory\n"
           "note: raise the limit (ulimit -v, or that of the container), or give a smaller plan or file\n";
  } catch (...) {
  }
  // Nothing is allocated, and other threads may still run.
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(code);
}

void prepareProcess() {
  std::set_terminate(endAtException);
  // A file that is opened while one of 0 to 2 is closed would get its number, and with it the text of the tool.
  for (int number = ::open("/dev/null", O_RDWR); number >= 0; number = ::open("/dev/null", O_RDWR))
    if (number > STDERR_FILENO) {
      ::close(number);
      break;
    }
  // Writing beyond the limit of a file's size is an error like that of a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
}

bool flushOutput() {
  static bool isWritable = true;
  if (std::fflush(stdout) == 0 || !std::exchange(isWritable, false))
    return isWritable;
  warn(inputError(concat("cannot write to standard output: ", std::generic_category().message(errno)))
           .withNote("the run continues without it"));
  return false;
}

} // namespace sluice
