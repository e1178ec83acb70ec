//===- OnednnLibrary.h - the engine and threads of oneDNN's primitives -------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CPU_ONEDNNLIBRARY_H
#define SLUICE_RUNTIME_KERNEL_CPU_ONEDNNLIBRARY_H

#include <dnnl.hpp>
#include <omp.h>

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

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_KERNEL_CPU_ONEDNNLIBRARY_H
