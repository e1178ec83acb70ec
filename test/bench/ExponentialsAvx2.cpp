//===- ExponentialsAvx2.cpp - sums of exponentials, AVX2 ---------------------===//
#define SLUICE_TARGET HWY_AVX2
#include "test/bench/Exponentials.inc"
