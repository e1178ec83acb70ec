//===- PackedDataTest.cpp - rows of several documents -----------------------------------===//
#include "runtime/train/ChatData.h"
#include "runtime/train/Documents.h"
#include "runtime/train/InputData.h"
#include "runtime/train/Safetensors.h"
#include "test/unit/train/Fixture.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::test;

namespace {

struct Row {
  std::vector<std::int32_t> tokens, targets, documents;
  bool operator==(const Row &) const = default;
};

class PackedData : public ::testing::Test {
protected:
  static constexpr std::uint64_t length = 6;
  TemporaryFolder folder;
  PlanBuilder builder{{{"shard", 1}}};
  std::vector<std::unique_ptr<plan::PortT>> held;
  std::vector<const plan::PortT *> ports;
  DataFiles files;

  void add(plan::PortRole role, const std::string &name, std::uint64_t limit = 0) {
    held.push_back(builder.port(name, plan::DType::i32, {2, static_cast<std::int64_t>(length)}, 0, limit));
    held.back()->role = role;
    ports.push_back(held.back().get());
  }
  void SetUp() override {
    add(plan::PortRole::targets, "targets", 256);
    add(plan::PortRole::tokens, "tokens", 256);
    add(plan::PortRole::documents, "documents", length);
    files.packing.emplace();
  }
  Result<std::unique_ptr<InputData>> open(const std::vector<std::string> &sources, std::uint64_t minimum = 1) {
    return openInputData(sources, files, ports, minimum);
  }
  void refuses(const std::vector<std::string> &sources, const std::string &text, std::uint64_t minimum = 1) {
    const Result<std::unique_ptr<InputData>> data = open(sources, minimum);
    ASSERT_FALSE(data.isOk()) << "accepted; wanted: " << text;
    expectError(data.status(), StatusCode::input, text);
  }
  static std::vector<Row> rowsOf(InputData &data) {
    std::vector<Row> rows;
    for (std::uint64_t sample = 0; sample < data.samples(); ++sample) {
      Row row{std::vector<std::int32_t>(length, 7), std::vector<std::int32_t>(length, 7),
              std::vector<std::int32_t>(length, 7)};
      const std::span<std::byte> views[] = {std::as_writable_bytes(std::span(row.targets)),
                                            std::as_writable_bytes(std::span(row.tokens)),
                                            std::as_writable_bytes(std::span(row.documents))};
      EXPECT_TRUE(data.read(sample, views).isOk());
      EXPECT_TRUE(checkDocuments(views[2], DType::i32).isOk());
      rows.push_back(row);
    }
    return rows;
  }
};

TEST_F(PackedData, TextsAreDocuments) {
  const std::string a = folder.write("a", "abc"), b = folder.write("b", "xy");
  const Result<std::unique_ptr<InputData>> data = open({a, b});
  ASSERT_TRUE(data.isOk()) << data.status().message();
  EXPECT_EQ((*data)->formats(), "text");
  const std::vector<Row> rows = rowsOf(**data);
  // The seed decides on the order.
  const Row first{{'a', 'b', 'c', 'x', 'y', 0}, {'b', 'c', -100, 'y', -100, -100}, {0, 0, 0, 3, 3, 5}},
      second{{'x', 'y', 'a', 'b', 'c', 0}, {'y', -100, 'b', 'c', -100, -100}, {0, 0, 2, 2, 2, 5}};
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(rows[0] == first || rows[0] == second);
  const std::optional<PackedContent> content = (*data)->packed(0, 1);
  ASSERT_TRUE(content);
  EXPECT_EQ(content->documents, 2u);
  EXPECT_EQ(content->tokens, 5u);
}

TEST_F(PackedData, TokenFilesAreDivided) {
  const std::vector<std::uint16_t> ids = {9, 1, 2, 9, 9, 3, 4, 5};
  const std::string path = folder.write("ids", bytesOf(ids));
  files.format = DataFormat::u16;
  refuses({path}, "'" + path + "' has token ids, and no token is known that divides documents");
  const auto documents = [&](bool begins) {
    files.packing->delimiter = DocumentDelimiter{9, begins};
    const Result<std::unique_ptr<DocumentFile>> file = openDocuments(path, files, 256);
    EXPECT_TRUE(file.isOk()) << file.status().message();
    std::vector<std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>> all;
    for (std::uint64_t i = 0; file.isOk() && i < (*file)->lengths().size(); ++i) {
      std::vector<std::int32_t> tokens((*file)->lengths()[i]), targets(tokens.size());
      EXPECT_TRUE((*file)->read(i, 0, tokens, targets).isOk());
      all.emplace_back(tokens, targets);
    }
    return all;
  };
  using Documents = std::vector<std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>>;
  EXPECT_EQ(documents(true), (Documents{{{9, 1, 2}, {1, 2, -100}}, {{9}, {-100}}, {{9, 3, 4, 5}, {3, 4, 5, -100}}}));
  EXPECT_EQ(documents(false),
            (Documents{{{9}, {-100}}, {{1, 2, 9}, {2, 9, -100}}, {{9}, {-100}}, {{3, 4, 5}, {4, 5, -100}}}));
}

TEST_F(PackedData, LongDocuments) {
  const std::string path = folder.write("a", "abcdefghijklmn");
  const Result<std::unique_ptr<InputData>> split = open({path});
  ASSERT_TRUE(split.isOk());
  std::vector<Row> rows = rowsOf(**split);
  ASSERT_EQ(rows.size(), 3u);
  // A part that is not the last one has the target of its last token.
  std::ranges::sort(rows, {}, [](const Row &row) { return row.tokens; });
  EXPECT_EQ(rows[0], (Row{{'a', 'b', 'c', 'd', 'e', 'f'}, {'b', 'c', 'd', 'e', 'f', 'g'}, {0, 0, 0, 0, 0, 0}}));
  EXPECT_EQ(rows[2], (Row{{'m', 'n', 0, 0, 0, 0}, {'n', -100, -100, -100, -100, -100}, {0, 0, 2, 2, 2, 2}}));
  files.packing->longDocuments = LongDocuments::truncate;
  const Result<std::unique_ptr<InputData>> truncated = open({path});
  ASSERT_TRUE(truncated.isOk());
  ASSERT_EQ((*truncated)->samples(), 1u);
  EXPECT_EQ(rowsOf(**truncated)[0].tokens, rows[0].tokens);
  files.packing->longDocuments = LongDocuments::error;
  const std::string other = folder.write("b", "abcdef");
  EXPECT_TRUE(open({other}).isOk());
  refuses({other, path}, "'" + path + "': length of document 0, expected at most 6 tokens but got 14");
}

TEST_F(PackedData, Conversations) {
  ChatDocuments chat;
  chat.tokens = {1, 2, 3, 4, 5};
  chat.targets = {-100, 3, -100, 5, -100};
  chat.ends = {3, 5};
  const std::string path = folder.path("chat.safetensors");
  ASSERT_TRUE(writeChatDocuments(path, chat).isOk());
  files.tokenized["chat.jsonl"] = path;
  const Result<std::unique_ptr<InputData>> data = open({"chat.jsonl"});
  ASSERT_TRUE(data.isOk()) << data.status().message();
  const std::vector<Row> rows = rowsOf(**data);
  ASSERT_EQ(rows.size(), 1u);
  const bool isFirst = rows[0].tokens[0] == 1;
  EXPECT_EQ(rows[0], isFirst ? (Row{{1, 2, 3, 4, 5, 0}, {-100, 3, -100, 5, -100, -100}, {0, 0, 0, 3, 3, 5}})
                             : (Row{{4, 5, 1, 2, 3, 0}, {5, -100, -100, 3, -100, -100}, {0, 0, 2, 2, 2, 5}}));
  // Damage in the folder of tokenized text.
  chat.ends = {3, 3};
  ASSERT_TRUE(writeChatDocuments(path, chat).isOk());
  expectError(open({"chat.jsonl"}).status(), StatusCode::refused, "has a conversation that ends at 3 of 5 tokens");
  ASSERT_TRUE(writeChatRows(path, ChatDocuments{{1}, {1}, {1}, 0, {}}, 1, 0).isOk());
  expectError(open({"chat.jsonl"}).status(), StatusCode::refused, "has no conversations as this version writes them");
}

TEST_F(PackedData, TokensOfConversationsAreInTheVocabulary) {
  ChatDocuments chat;
  chat.tokens = {1, 300};
  chat.targets = {300, -100};
  chat.ends = {2};
  files.tokenized["c"] = folder.path("c.safetensors");
  ASSERT_TRUE(writeChatDocuments(files.tokenized["c"], chat).isOk());
  const Result<std::unique_ptr<InputData>> data = open({"c"});
  ASSERT_TRUE(data.isOk());
  std::vector<std::int32_t> row(length);
  const std::span<std::byte> view = std::as_writable_bytes(std::span(row));
  const std::span<std::byte> views[] = {view, view, view};
  expectError((*data)->read(0, views), StatusCode::input, "expected tokens below 256 but got 300");
}

TEST_F(PackedData, Errors) {
  const std::string text = folder.write("a", "abc");
  refuses({text}, "are too short, expected documents for at least 2 rows of 6 tokens but they fill 1", 2);
  refuses({"random:1"}, "data 'random:1' have no documents, which --pack needs");
  refuses({folder.path("none")}, "cannot read");
  const std::string rows = folder.path("rows.safetensors");
  ASSERT_TRUE(writeChatRows(rows, ChatDocuments{{1}, {1}, {1}, 0, {}}, 1, 0).isOk());
  refuses({rows}, "'" + rows + "' has rows, which --pack cannot divide into documents");
  add(plan::PortRole::data, "image");
  refuses({text}, "the model has an input 'image', expected only tokens, targets and documents with --pack");
  ports.pop_back();
  ports.pop_back();
  refuses({text}, "--pack needs a model with an input 'documents'");
  // And a model with documents needs rows that have them.
  ports.push_back(held[2].get());
  files.packing.reset();
  refuses({text}, "the model has an input 'documents', which these data have no values for");
}

TEST_F(PackedData, DocumentsOfARow) {
  const auto check = [](std::vector<std::int32_t> documents) {
    return checkDocuments(std::as_bytes(std::span(documents)), DType::i32);
  };
  for (const std::vector<std::int32_t> &valid :
       {std::vector<std::int32_t>{}, {0}, {0, 0, 2}, {0, 1, 2, 3}, {0, 1, 1, 1}})
    EXPECT_TRUE(check(valid).isOk());
  const auto refuses = [&](const std::vector<std::int32_t> &documents, const std::string &text) {
    expectError(check(documents), StatusCode::input, text);
  };
  refuses({1}, "document of token 0, expected 0 but got 1");
  refuses({0, 0, 1}, "document of token 2, expected 0 or 2 but got 1");
  // A document that another one interrupts, and one beyond the row.
  refuses({0, 1, 0}, "document of token 2, expected 1 or 2 but got 0");
  refuses({0, 9}, "document of token 1, expected 0 or 1 but got 9");
  refuses({0, -1}, "document of token 1, expected 0 or 1 but got -1");
}

TEST_F(PackedData, RandomDocumentsAreValid) {
  files.packing.reset();
  const Result<std::unique_ptr<InputData>> data = open({"random:3"});
  ASSERT_TRUE(data.isOk()) << data.status().message();
  std::size_t most = 0;
  for (std::uint64_t sample = 0; sample < 20; ++sample) {
    Row row{std::vector<std::int32_t>(length), std::vector<std::int32_t>(length), std::vector<std::int32_t>(length)};
    const std::span<std::byte> views[] = {std::as_writable_bytes(std::span(row.targets)),
                                          std::as_writable_bytes(std::span(row.tokens)),
                                          std::as_writable_bytes(std::span(row.documents))};
    ASSERT_TRUE((*data)->read(sample, views).isOk());
    EXPECT_TRUE(checkDocuments(views[2], DType::i32).isOk());
    std::ranges::sort(row.documents);
    most = std::max<std::size_t>(
        most, static_cast<std::size_t>(std::ranges::unique(row.documents).begin() - row.documents.begin()));
  }
  EXPECT_GT(most, 2u);
}

} // namespace
