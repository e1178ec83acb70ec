//===- PackingTest.cpp - documents in rows of one length ------------------------------===//
#include "runtime/train/Packing.h"

#include <array>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <random>

using namespace sluice;

namespace {

using Lengths = std::vector<std::uint64_t>;

/// Each token of each document is in one row, in parts of consecutive tokens, and no row has more than `rowLength`.
void expectComplete(const PackedRows &rows, const Lengths &lengths, std::uint64_t rowLength, LongDocuments policy) {
  std::map<std::uint64_t, std::map<std::uint64_t, std::uint64_t>> partsOf;
  for (std::uint64_t i = 0; i < rows.size(); ++i) {
    std::uint64_t filled = 0;
    for (const PackedPart &part : rows.row(i)) {
      EXPECT_GT(part.count, 0u);
      EXPECT_TRUE(partsOf[part.document].emplace(part.first, part.count).second);
      filled += part.count;
    }
    EXPECT_GT(filled, 0u);
    EXPECT_LE(filled, rowLength);
  }
  for (std::uint64_t document = 0; document < lengths.size(); ++document) {
    std::uint64_t end = 0;
    for (const auto &[first, count] : partsOf[document]) {
      EXPECT_EQ(first, end);
      EXPECT_TRUE(count == rowLength || first + count == lengths[document] || policy == LongDocuments::truncate);
      end = first + count;
    }
    EXPECT_EQ(end, policy == LongDocuments::truncate ? std::min(lengths[document], rowLength) : lengths[document]);
  }
}

TEST(Packing, AnyLengths) {
  std::mt19937 random(3);
  for (const std::uint64_t rowLength : {1, 2, 7, 64})
    for (const std::uint64_t count : {0, 1, 2, 50})
      for (const LongDocuments policy : {LongDocuments::split, LongDocuments::truncate}) {
        Lengths lengths(count);
        for (std::uint64_t &length : lengths)
          length = random() % (3 * rowLength + 1);
        const PackedRows rows = packRows(lengths, rowLength, policy, count);
        expectComplete(rows, lengths, rowLength, policy);
        if (std::accumulate(lengths.begin(), lengths.end(), std::uint64_t(0)) == 0) {
          EXPECT_EQ(rows.size(), 0u);
        }
      }
}

TEST(Packing, FirstRowWithRoom) {
  // All orders of these documents fill two rows: the short ones go where the long ones leave room.
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const PackedRows rows = packRows(Lengths{8, 8, 1, 1, 1, 1}, 10, LongDocuments::split, seed);
    expectComplete(rows, {8, 8, 1, 1, 1, 1}, 10, LongDocuments::split);
    EXPECT_LE(rows.size(), 3u);
  }
  const PackedRows one = packRows(Lengths{10, 10, 10}, 10, LongDocuments::error, 1);
  EXPECT_EQ(one.size(), 3u);
}

TEST(Packing, SeedChoosesTheOrder) {
  const Lengths lengths(30, 3);
  const auto documents = [&](std::uint64_t seed) {
    const PackedRows rows = packRows(lengths, 9, LongDocuments::split, seed);
    std::vector<std::uint64_t> order;
    for (std::uint64_t i = 0; i < rows.size(); ++i)
      for (const PackedPart &part : rows.row(i))
        order.push_back(part.document);
    return order;
  };
  EXPECT_EQ(documents(4), documents(4));
  EXPECT_NE(documents(4), documents(5));
  EXPECT_EQ(documents(4).size(), 30u);
}

/// Lengths of conversations: a log-normal distribution of mean 300 in rows of 2,048.
TEST(Packing, ConversationsFillRows) {
  std::mt19937_64 random(7);
  const double deviation = 1;
  std::lognormal_distribution<double> lengthOf(std::log(300) - deviation * deviation / 2, deviation);
  Lengths lengths(5000);
  for (std::uint64_t &length : lengths)
    length = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(lengthOf(random)));
  const PackedRows rows = packRows(lengths, 2048, LongDocuments::split, 1);
  const auto tokens = static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::uint64_t(0)));
  EXPECT_GE(tokens / static_cast<double>(rows.size() * 2048), 0.95);
}

// Each document is in the bucket of its length, and one that is too long in those of its parts.
TEST(Packing, BucketsHaveTheDocumentsOfTheirLengths) {
  const Lengths lengths = {3, 0, 8, 4, 21, 5};
  const auto counts = [&](LengthBucket bucket, LongDocuments policy) {
    std::vector<std::array<std::uint64_t, 3>> found;
    const PackedRows rows = separateRows(lengths, bucket, policy);
    for (std::uint64_t row = 0; row < rows.size(); ++row) {
      EXPECT_EQ(rows.row(row).size(), 1u);
      const PackedPart &part = rows.row(row)[0];
      found.push_back({part.document, part.first, part.count});
    }
    return found;
  };
  using Found = std::vector<std::array<std::uint64_t, 3>>;
  EXPECT_EQ(counts({0, 4, 8}, LongDocuments::split), (Found{{0, 0, 3}, {3, 0, 4}}));
  EXPECT_EQ(counts({4, 8, 8}, LongDocuments::split), (Found{{2, 0, 8}, {4, 0, 8}, {4, 8, 8}, {4, 16, 5}, {5, 0, 5}}));
  EXPECT_EQ(counts({4, 8, 8}, LongDocuments::truncate), (Found{{2, 0, 8}, {4, 0, 8}, {5, 0, 5}}));
  EXPECT_TRUE(counts({8, 16, 16}, LongDocuments::truncate) == (Found{{4, 0, 16}}));
}

} // namespace
