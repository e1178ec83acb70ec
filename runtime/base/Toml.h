//===- Toml.h - the TOML library, as headers and without exceptions --------------------===//
//
// The packaged library is built with exceptions; the headers work without them. Users link nothing, and add the
// library's include directory.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_TOML_H
#define SLUICE_RUNTIME_BASE_TOML_H

#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
// The parser asserts that a table's header begins with a key, and then reports that it does not.
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

#endif // SLUICE_RUNTIME_BASE_TOML_H
