//===- Catalogue.cpp - the rows of catalogue.def ------------------------------===//
//
// The catalogue as a table, sorted as the file lists it. Dialect, checker and registry look names up here.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/Kernel.h"

namespace sluice {
namespace {

// The values of ReductionClass in runtime/plan/plan.fbs.
constexpr std::uint8_t not_a_reduction = 0;
constexpr std::uint8_t ordered = 1;
constexpr std::uint8_t fixed = 2;

constexpr CatalogueEntry entries[] = {
#define SLUICE_KERNEL(name, inputs, outputs, reduction) {#name, inputs, outputs, reduction},
#include "runtime/kernel/catalogue.def"
#undef SLUICE_KERNEL
};

} // namespace

std::span<const CatalogueEntry> catalogue() { return entries; }

const CatalogueEntry *findInCatalogue(std::string_view name) {
  for (const CatalogueEntry &entry : entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

std::uint32_t catalogueVersion() { return SLUICE_CATALOGUE_VERSION; }

} // namespace sluice
