//===- sluice-train-faults.cpp - sluice-train, with faults for tests ------------------===//
#include "test/faults/Fault.h"
#include "tools/train/Train.h"

#include <cstdlib>

int main(int argc, char **argv) {
  return sluice::trainMain(argc, argv, [](int rank) { return sluice::readFault(std::getenv("SLUICE_FAULT"), rank); });
}
