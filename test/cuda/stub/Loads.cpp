//===- Loads.cpp - a driver that loads all code and runs none
//-------------------------------------------------------------===//
//
// cuDNN's compiled engines load their code into a driver, also for a device that is not in the machine. This driver
// reports success.
//
//===----------------------------------------------------------------------===//

#define SLUICE_LOADED(name)                                                                                            \
  extern "C" __attribute__((visibility("default"))) int name(void **made) {                                            \
    static int one;                                                                                                    \
    return *made = &one, 0;                                                                                            \
  }
#define SLUICE_DONE(name)                                                                                              \
  extern "C" __attribute__((visibility("default"))) int name() { return 0; }
#define SLUICE_NUMBER(name, number)                                                                                    \
  extern "C" __attribute__((visibility("default"))) int name(int *value) { return *value = (number), 0; }
#define SLUICE_TEXT(name)                                                                                              \
  extern "C" __attribute__((visibility("default"))) int name(int, const char **text) { return *text = "error", 0; }

SLUICE_LOADED(cuLibraryLoadData)
SLUICE_LOADED(cuLibraryLoadFromFile)
SLUICE_LOADED(cuLibraryGetKernel)
SLUICE_LOADED(cuKernelGetFunction)
SLUICE_LOADED(cuLinkCreate)
SLUICE_NUMBER(cuDriverGetVersion, 13000)
SLUICE_NUMBER(cuDeviceGetCount, 1)
SLUICE_NUMBER(cuDeviceGet, 0)
SLUICE_NUMBER(cuKernelGetAttribute, 0)
SLUICE_TEXT(cuGetErrorName)
SLUICE_TEXT(cuGetErrorString)
SLUICE_DONE(cuLibraryUnload)
SLUICE_DONE(cuKernelSetAttribute)
SLUICE_DONE(cuFuncSetAttribute)
SLUICE_DONE(cuCtxGetCurrent)
SLUICE_DONE(cuCtxGetLimit)
SLUICE_DONE(cuCtxPopCurrent)
SLUICE_DONE(cuCtxPushCurrent)
SLUICE_DONE(cuLaunchCooperativeKernel)
SLUICE_DONE(cuLaunchKernel)
SLUICE_DONE(cuLaunchKernelEx)
SLUICE_DONE(cuLinkAddData)
SLUICE_DONE(cuLinkComplete)
SLUICE_DONE(cuLinkDestroy)
SLUICE_DONE(cuOccupancyMaxPotentialClusterSize)
SLUICE_DONE(cuStreamGetCtx)
