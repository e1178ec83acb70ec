//===- JsonDepth.h - the limit of nested JSON ------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_JSONDEPTH_H
#define SLUICE_RUNTIME_BASE_JSONDEPTH_H

#include <cstddef>
#include <string_view>

namespace sluice {

/// Untrusted files must not exhaust the stack; the files that Sluice reads nest four deep.
inline constexpr std::size_t deepestJson = 200;

/// True for text whose objects and arrays nest deeper than that. parseJson() discards it; this is for other parsers.
bool nestsTooDeep(std::string_view text);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_JSONDEPTH_H
