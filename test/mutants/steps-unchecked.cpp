//===- steps-unchecked.cpp - sluice-steps without the checker ----------------------------===//
//
// Usage: steps-unchecked PLAN
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Reader.h"
#include "tools/steps/StepDigest.h"

using namespace sluice;

int main(int argc, char **argv) {
  Result<PlanFile> file = readPlan(argc == 2 ? argv[1] : "");
  return file.isOk() ? printDigests(file->plan) : 1;
}
