//===- Descriptor.h - a file descriptor that closes itself --------------------------===//
#ifndef SLUICE_RUNTIME_BASE_DESCRIPTOR_H
#define SLUICE_RUNTIME_BASE_DESCRIPTOR_H

#include <unistd.h>
#include <utility>

namespace sluice {

class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int number) : number(number) {}
  Descriptor(Descriptor &&other) noexcept : number(other.release()) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Descriptor() {
    if (isOpen())
      ::close(number);
  }
  int get() const { return number; }
  bool isOpen() const { return number >= 0; }
  /// The caller closes it.
  int release() { return std::exchange(number, -1); }

private:
  int number = -1;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_DESCRIPTOR_H
