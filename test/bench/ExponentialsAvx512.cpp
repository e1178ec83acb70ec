//===- ExponentialsAvx512.cpp - exponentials and nothing else, AVX-512 --------===//
#define SLUICE_TARGET HWY_AVX3
#include "test/bench/Exponentials.inc"
