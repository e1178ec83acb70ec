//===- StartEnvironment.cpp - the environment that the ranks of a job compare -------------===//
#include "runtime/train/StartEnvironment.h"

#include "runtime/base/Text.h"

#include <cstdlib>

namespace sluice {

std::vector<StartValue> environmentValues() {
  std::vector<StartValue> values;
  for (const char *name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_DEFAULT_FPMATH_MODE",
                           "DNNL_DEFAULT_FPMATH_MODE", "OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_DYNAMIC",
                           "NCCL_ALGO", "NCCL_PROTO", "NVIDIA_TF32_OVERRIDE", "CUBLAS_WORKSPACE_CONFIG"}) {
    const char *text = std::getenv(name);
    values.push_back({concat("environment variable ", name), text ? text : "unset"});
  }
  return values;
}

} // namespace sluice
