//===- MachineFolder.h - the machine files that come with Sluice, by name -----------------------===//
//
// A name is that of a file without its suffix: "h100-sxm-80gb". Files of devices have no hosts; a file of hosts is
// based on that of its device.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_REPORT_MACHINE_MACHINEFOLDER_H
#define SLUICE_RUNTIME_REPORT_MACHINE_MACHINEFOLDER_H

#include "runtime/base/Status.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// The folder of machine files: that of the environment variable SLUICE_MACHINES, else `share/sluice/machines` of the
/// installation of this program, else that of the sources that it was built from.
std::string machineFolder();

/// The names of the folder's files, sorted; none if it cannot be read.
std::vector<std::string> machineNames(const std::string &folder);

/// The path of the file of a name.
std::string machinePath(const std::string &folder, const std::string &name);

/// The path of the first file of the folder, by name, that is based on the file of `name` and describes hosts. Errors:
/// those of reading a file.
Result<std::optional<std::string>> machineOfHosts(const std::string &folder, const std::string &name);

} // namespace sluice

#endif // SLUICE_RUNTIME_REPORT_MACHINE_MACHINEFOLDER_H
