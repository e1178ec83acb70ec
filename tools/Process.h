//===- Process.h - the process of a tool --------------------------------------------------===//
#ifndef SLUICE_TOOLS_PROCESS_H
#define SLUICE_TOOLS_PROCESS_H

namespace sluice {

/// The first call of a tool's main. The descriptors 0 to 2 are open afterwards, on /dev/null where they were closed. A
/// write beyond the limit of a file's size fails instead of ending the process. An exception that nothing catches ends
/// it with a message, and memory that cannot be allocated with StatusCode::failed.
void prepareProcess();

/// Writes what was printed. The first failure prints a warning; the result is false from then on.
bool flushOutput();

} // namespace sluice

#endif // SLUICE_TOOLS_PROCESS_H
