//===- ExponentialsAvx512.cpp - sums of exponentials, AVX-512 ----------------===//
#define SLUICE_TARGET HWY_AVX3
#include "test/bench/Exponentials.inc"
