//===- BadPlan.h - wrong variants of the hand-written plan -------------------------===//
//
// A file lists the wrong plans of some properties and instantiates BadPlan with them; CheckerTest.cpp checks each.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_PLAN_BADPLAN_H
#define SLUICE_TEST_UNIT_PLAN_BADPLAN_H

#include "HandPlan.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace sluice::test {

struct Bad {
  const char *name;
  int property;
  /// Part of the message.
  const char *message;
  void (*spoil)(HandPlan &);
};

inline void PrintTo(const Bad &bad, std::ostream *out) { *out << bad.name; }

class BadPlan : public testing::TestWithParam<Bad> {};

inline std::string nameOf(const testing::TestParamInfo<Bad> &info) { return info.param.name; }

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_PLAN_BADPLAN_H
