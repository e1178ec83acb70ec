//===- MachineFolder.cpp - the machine files that come with Sluice, by name ---------------------===//
#include "runtime/report/machine/MachineFolder.h"

#include "runtime/base/File.h"
#include "runtime/base/Toml.h"
#include "runtime/report/machine/MachineFile.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace sluice {

std::string machineFolder() {
  if (const char *given = std::getenv("SLUICE_MACHINES"))
    return given;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path installed = program.parent_path().parent_path() / "share/sluice/machines";
  return !error && std::filesystem::is_directory(installed, error) ? installed.string() : SLUICE_SOURCE_MACHINES;
}

std::vector<std::string> machineNames(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end; file.increment(error))
    if (file->path().extension() == ".toml")
      names.push_back(file->path().stem().string());
  std::ranges::sort(names);
  return names;
}

std::string machinePath(const std::string &folder, const std::string &name) { return folder + "/" + name + ".toml"; }

Result<std::optional<std::string>> machineOfHosts(const std::string &folder, const std::string &name) {
  for (const std::string &other : machineNames(folder)) {
    const std::string path = machinePath(folder, other);
    SLUICE_ASSIGN_OR_RETURN(const std::string text, readFile(path, StatusCode::input, largestTextFile));
    const toml::parse_result file = parseToml(text, path);
    if (file && file.table()["base"].value<std::string>() == name + ".toml" && file.table().contains("hosts"))
      return std::optional(path);
  }
  return std::optional<std::string>();
}

} // namespace sluice
