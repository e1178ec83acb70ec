//===- OnednnLibrary.h - common code of oneDNN's primitives -------------------------===//
//
// Primitives have their scratchpad in the caller's memory and run without an allocation of ours.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_ONEDNNLIBRARY_H
#define SLUICE_RUNTIME_KERNEL_CPU_ONEDNNLIBRARY_H

#include "runtime/base/Status.h"
#include "runtime/base/Text.h"

#include <dnnl.hpp>
#include <omp.h>

#include <vector>

namespace sluice::cpu {

/// One engine for all primitives: it is stateless.
inline const dnnl::engine &sharedEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// The library takes the number of threads from the calling thread's OpenMP setting.
struct LibraryThreads {
  explicit LibraryThreads(int count) : before(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~LibraryThreads() { omp_set_num_threads(before); }
  int before;
};

/// The library's last resort is a plain loop, a thousand times slower.
template <typename Descriptor> bool isPlainLoop(const Descriptor &descriptor) {
  return std::string_view(descriptor.impl_info_str()).starts_with("ref");
}

/// Memory that each run sets the address of.
inline dnnl::memory memoryOf(const dnnl::memory::desc &desc) { return dnnl::memory(desc, sharedEngine(), nullptr); }
inline void setData(const dnnl::memory &memory, const void *data) {
  dnnl_memory_set_data_handle(memory.get(), const_cast<void *>(data));
}

inline Status execute(std::string_view what, const dnnl::primitive &primitive, const dnnl::stream &stream,
                      const std::vector<dnnl_exec_arg_t> &arguments) {
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(arguments.size()), arguments.data());
  if (status == dnnl_success)
    return Status::ok();
  return failedError(concat("oneDNN ", what, " failed with status ", static_cast<int>(status)));
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_ONEDNNLIBRARY_H
