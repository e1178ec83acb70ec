//===- Capsule.cpp - tensors in capsules of Python ------------------------------------===//
#include "runtime/capi/sluice.h"

#include <dlfcn.h>

/// A function of the interpreter that has loaded this library; null without one.
template <typename Function> static Function *pythonFunction(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

/// Calls the deleter of the capsule's tensor, unless a consumer has taken it and renamed the capsule.
template <typename Managed> static void freeTensor(void *capsule, const char *name) {
  static auto *const isValid = pythonFunction<int(void *, const char *)>("PyCapsule_IsValid");
  static auto *const pointer = pythonFunction<void *(void *, const char *)>("PyCapsule_GetPointer");
  if (!isValid || !pointer || !isValid(capsule, name))
    return;
  auto *managed = static_cast<Managed *>(pointer(capsule, name));
  if (managed->deleter)
    managed->deleter(managed);
}

void sluice_capsule_free(void *capsule) {
  freeTensor<DLManagedTensorVersioned>(capsule, "dltensor_versioned");
  freeTensor<DLManagedTensor>(capsule, "dltensor");
}
