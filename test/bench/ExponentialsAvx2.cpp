//===- ExponentialsAvx2.cpp - exponentials and nothing else, AVX2 -------------===//
#define SLUICE_TARGET HWY_AVX2
#include "test/bench/Exponentials.inc"
