//===- Registry.cpp - finding a CPU kernel --------------------------------------===//
#include "runtime/kernel/cpu/CpuKernels.h"

namespace sluice {
namespace cpu {
namespace {

template <PrepareFunction fast, PrepareFunction reference> Bound fastOrReference(const KernelRequest &request) {
  Bound plain = reference(request);
  if (!plain.isOk())
    return plain;
  Bound best = fast(request);
  return best.isOk() && !*best ? std::move(plain) : std::move(best);
}

/// A specialization, because with -fsanitize=undefined GCC does not compare functions in constant expressions.
template <PrepareFunction form, PrepareFunction reference>
constexpr PrepareFunction preferred = fastOrReference<form, reference>;
template <PrepareFunction reference> constexpr PrepareFunction preferred<reference, reference> = reference;

template <KernelId id, PrepareFunction form, PrepareFunction reference> Bound prepareAs(const KernelRequest &request) {
  constexpr PrepareFunction one = preferred<form, reference>;
  const KernelRecord &record = kernelRecord(id);
  return prepareByRecord(
      record, computesEach(record) ? [](const KernelRequest &list) { return prepareEach(one, list); } : one, request);
}

struct Forms {
  PrepareFunction best, reference;
};

/// By KernelId.
constexpr Forms forms[] = {
#define SLUICE_KERNEL(name, form, ...)                                                                                 \
  {prepareAs<KernelId::name, form::name, reference::name>, prepareAs<KernelId::name, reference::name, reference::name>},
#include "runtime/kernel/catalogue/catalogue.def"
};

} // namespace
} // namespace cpu

PrepareFunction findCpuKernel(KernelId id, KernelFlavour flavour) {
  const cpu::Forms &forms = cpu::forms[static_cast<std::size_t>(id)];
  return flavour == KernelFlavour::fast ? forms.best : forms.reference;
}

PrepareFunction findCpuKernel(std::string_view name, KernelFlavour flavour) {
  const KernelRecord *record = findKernelRecord(name);
  return record ? findCpuKernel(record->id, flavour) : nullptr;
}

} // namespace sluice
