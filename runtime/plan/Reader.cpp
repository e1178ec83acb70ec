//===- Reader.cpp - from bytes to a plan in memory ---------------------------------===//
//
// See Reader.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/Reader.h"

#include "runtime/base/Sha256.h"
#include "runtime/base/Text.h"
#include "runtime/plan/Checker.h"
#include "runtime/plan/Payload.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

namespace sluice {
namespace {

/// FlatBuffers addresses with 31 bits.
constexpr std::uint64_t maxPlanBytes = FLATBUFFERS_MAX_BUFFER_SIZE - 1;
/// Root offset and identifier.
constexpr std::uint64_t headerBytes = 8;
/// Plan, entry, section, instruction, launch, view, valid: 7 tables deep.
constexpr flatbuffers::uoffset_t maxDepth = 16;

Status damaged(std::string_view name, const std::string &what) {
  return refusedError("plan '" + std::string(name) + "' is damaged or cut off, " + what);
}

/// The root table's `major`, read before the rest is verified: a different major version may not verify by this schema.
std::optional<std::uint32_t> readMajor(flatbuffers::Verifier &verifier, std::span<const std::uint8_t> bytes) {
  const auto root = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(bytes.data());
  if (root % sizeof(flatbuffers::uoffset_t) != 0 || !verifier.Verify(root, sizeof(flatbuffers::soffset_t)))
    return std::nullopt;
  /// Gives access to a table's protected functions.
  struct Head : flatbuffers::Table {
    std::optional<std::uint32_t> major(flatbuffers::Verifier &verifier) const {
      constexpr auto field = plan::Plan::VT_MAJOR;
      if (!VerifyTableStart(verifier) || !VerifyField<std::uint32_t>(verifier, field, sizeof(std::uint32_t)))
        return std::nullopt;
      return GetField<std::uint32_t>(field, 0);
    }
  };
  return reinterpret_cast<const Head *>(bytes.data() + root)->major(verifier);
}

} // namespace

Result<std::vector<std::uint8_t>> readPlanBytes(const std::string &path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return inputError("cannot read '" + path + "', expected a plan file but got a directory");
  // A pipe or a device may have no end.
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
    return inputError("cannot read '" + path + "', expected a plan file but got a different kind of file");
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file)
    return inputError("cannot read '" + path + "', " + std::strerror(errno));
  std::vector<std::uint8_t> bytes;
  std::size_t got = 0;
  // Grows with the bytes that are read: the size that a file system reports allocates nothing.
  do {
    const std::size_t before = bytes.size();
    bytes.resize(before + (before < (1 << 20) ? (1 << 16) : before / 2));
    got = std::fread(bytes.data() + before, 1, bytes.size() - before, file.get());
    bytes.resize(before + got);
  } while (got != 0 && bytes.size() <= maxPlanBytes);
  if (std::ferror(file.get()))
    return inputError("cannot read '" + path + "', " + std::strerror(errno));
  return bytes;
}

Result<PlanFile> parsePlan(std::span<const std::uint8_t> bytes, std::string_view name) {
  if (bytes.empty())
    return refusedError("plan '" + std::string(name) + "' is empty");
  if (bytes.size() > maxPlanBytes)
    return refusedError(concat("plan '", name, "' is too large, expected at most ", maxPlanBytes, " bytes"));
  if (bytes.size() < headerBytes + sizeof(flatbuffers::soffset_t))
    return damaged(name, concat("expected a header but got ", bytes.size(), " bytes"));
  std::vector<std::uint8_t> aligned;
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % 16 != 0) {
    aligned.assign(bytes.begin(), bytes.end());
    bytes = aligned;
  }
  if (!flatbuffers::BufferHasIdentifier(bytes.data(), plan::PlanIdentifier()))
    return refusedError("'" + std::string(name) + "' is not a plan, expected the identifier '" +
                        plan::PlanIdentifier() + "' at byte 4");

  // Every table of a valid file has its own 4 bytes, so this many visits suffice, and the unpacked size is in
  // proportion to the file.
  flatbuffers::Verifier::Options options;
  options.max_depth = maxDepth;
  options.max_tables = flatbuffers::uoffset_t(bytes.size() / sizeof(flatbuffers::soffset_t));
  flatbuffers::Verifier head(bytes.data(), bytes.size(), options);
  const std::optional<std::uint32_t> major = readMajor(head, bytes);
  if (!major)
    return damaged(name, "its root does not verify");
  if (*major != planMajor)
    return refusedError(concat("plan '", name, "' has a different version, expected major version ", planMajor,
                               " but got ", *major))
        .withNote("compile it again with the sluice-compile of this build");

  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), options);
  if (!plan::VerifyPlanBuffer(verifier))
    return damaged(name, "its structure does not verify");
  const plan::Plan *root = plan::GetPlan(bytes.data());
  if (!root->digest() || root->digest()->size() != digestBytes)
    return damaged(name, concat("expected a digest of ", digestBytes, " bytes"));

  const std::size_t digestAt = root->digest()->data() - bytes.data();
  const std::uint8_t zeros[digestBytes] = {};
  const Digest digest = sha256({bytes.first(digestAt), zeros, bytes.subspan(digestAt + digestBytes)});
  const std::string named = toHex({root->digest()->data(), digestBytes});
  PlanFile file;
  file.digest = toHex(digest);
  file.bytes = bytes.size();
  if (file.digest != named)
    return damaged(name, "expected digest " + named + " but its bytes have " + file.digest);
  // Vectors and strings that are shared between tables would be copied for each on unpacking.
  if (!payloadFits(*root, bytes.size()))
    return damaged(name, "its tables share contents or are not aligned");
  root->UnPackTo(&file.plan);
  return file;
}

Result<PlanFile> readPlan(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::uint8_t> bytes, readPlanBytes(path));
  return parsePlan(bytes, path);
}

Result<PlanFile> readCheckedPlan(const std::string &path, CheckReport *report) {
  SLUICE_ASSIGN_OR_RETURN(PlanFile file, readPlan(path));
  SLUICE_RETURN_IF_ERROR(checkPlan(file.plan, report));
  return file;
}

} // namespace sluice
