//===- CatalogueVersion.cpp - the version of the catalogue is that of its records -------------===//
#include "runtime/base/Sha256.h"
#include "runtime/kernel/catalogue/Catalogue.h"

#include <gtest/gtest.h>
#include <sstream>

namespace sluice::test {
namespace {

template <typename List> void addOperands(std::ostream &text, const List &operands) {
  for (const OperandRecord &operand : operands) {
    text << " " << operand.name << ":" << int(operand.count) << operand.given << ":";
    for (int dtype = 0; dtype < 7; ++dtype)
      text << operand.dtypes.has(DType(dtype));
  }
}

template <typename List> void addAliases(std::ostream &text, const char *name, const List &aliases) {
  text << " " << name;
  for (const AliasRecord &alias : aliases)
    text << " " << alias.input << "=" << alias.output;
}

/// All that a plan's launches depend on: operands, attributes, aliases, dims. Not summaries and implementations.
std::string textOf(const KernelRecord &record) {
  std::ostringstream text;
  text << record.name;
  addOperands(text, record.inputs);
  text << " ->";
  addOperands(text, record.outputs);
  for (const AttributeRecord &attribute : record.attributes) {
    text << " " << attribute.name << ":" << int(attribute.kind) << int(attribute.absence) << attribute.fallback;
    for (std::string_view choice : attribute.choices)
      text << "," << choice;
  }
  addAliases(text, "may", record.mayAlias);
  addAliases(text, "must", record.mustAlias);
  addAliases(text, "sums", record.sums);
  text << " " << record.dims << int(record.terms) << int(record.reduction) << record.addsToRows << "\n";
  return text.str();
}

// Tests that a change of a record is noticed: then the digest here changes too, and SLUICE_CATALOGUE_VERSION is raised
// if a launch of an earlier plan would have another meaning.
TEST(Catalogue, VersionIsThatOfTheRecords) {
  std::string text;
  for (const KernelRecord &record : catalogue())
    text += textOf(record);
  const Digest digest = sha256({reinterpret_cast<const std::uint8_t *>(text.data()), text.size()});
  std::ostringstream hex;
  for (int byte = 0; byte < 8; ++byte)
    hex << std::hex << int(digest[byte] >> 4) << int(digest[byte] & 15);
  EXPECT_EQ(catalogueVersion(), 1u);
  EXPECT_EQ(hex.str(), "9ecbef02c98887ca");
}

} // namespace
} // namespace sluice::test
