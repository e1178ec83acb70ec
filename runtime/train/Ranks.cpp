//===- Ranks.cpp - the interface of the trainer to the running ranks ---------------===//
#include "runtime/train/Ranks.h"

namespace sluice {

template <typename Ports> static const plan::PortT *findPort(const Ports &ports, std::string_view name) {
  for (const auto &port : ports)
    if (port->name == name)
      return port.get();
  return nullptr;
}

const plan::PortT *findInput(const plan::EntryT &entry, std::string_view name) { return findPort(entry.inputs, name); }
const plan::PortT *findOutput(const plan::EntryT &entry, std::string_view name) {
  return findPort(entry.outputs, name);
}

} // namespace sluice
