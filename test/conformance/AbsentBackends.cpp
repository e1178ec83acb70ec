//===- AbsentBackends.cpp - backends that were not tested, with the reason ---------===//
#include "test/conformance/Backends.h"

#include <gtest/gtest.h>
#include <ostream>

namespace sluice::test {

void PrintTo(const AbsentBackend &backend, std::ostream *out) { *out << backend.name; }

namespace {

class Absent : public testing::TestWithParam<AbsentBackend> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Absent);

TEST_P(Absent, Backend) { GTEST_SKIP() << GetParam().name << ": " << GetParam().reason; }

INSTANTIATE_TEST_SUITE_P(Backends, Absent, testing::ValuesIn(absentBackends()),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace sluice::test
