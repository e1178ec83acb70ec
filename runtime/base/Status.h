//===- Status.h - the runtime's one error type -------------------------------===//
//
// The runtime library neither throws, aborts nor prints: a function that can fail returns a Status or a Result<T>.
// A message is one line, lower case, without a final period; `notes` are printed under it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_BASE_STATUS_H
#define SLUICE_RUNTIME_BASE_STATUS_H

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// The kind of failure. The values are the exit codes of the tools.
enum class StatusCode : int {
  ok = 0,
  /// The input is wrong, or an output cannot be written.
  input = 1,
  /// The command line is wrong.
  usage = 2,
  /// The plan needs more memory than the budget allows.
  budget = 3,
  /// A plan, checkpoint or weights file is refused: damaged, mismatched, unverifiable, or not for this machine.
  refused = 4,
  /// A rank or device failed, or the loss is not finite.
  failed = 5,
  /// A bug in Sluice: please report.
  internal = 70,
};

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message) : statusCode(code), text(std::move(message)) {}

  static Status ok() { return {}; }

  bool isOk() const { return statusCode == StatusCode::ok; }
  StatusCode code() const { return statusCode; }
  const std::string &message() const { return text; }
  const std::vector<std::string> &notes() const { return noteLines; }

  /// Adds a line that is printed as `note: ...` and returns the status, for use in a return statement.
  Status &&withNote(std::string note) && {
    noteLines.push_back(std::move(note));
    return std::move(*this);
  }
  void addNote(std::string note) { noteLines.push_back(std::move(note)); }

  /// The bytes of a file are wrong: it will not become readable. A failure to read it, or a later version, is no
  /// damage.
  bool isDamage() const { return damage; }
  Status &&asDamage(bool isDamaged = true) && {
    damage = isDamaged;
    return std::move(*this);
  }

private:
  StatusCode statusCode = StatusCode::ok;
  bool damage = false;
  std::string text;
  std::vector<std::string> noteLines;
};

inline Status inputError(std::string message) { return {StatusCode::input, std::move(message)}; }
inline Status refusedError(std::string message) { return {StatusCode::refused, std::move(message)}; }
inline Status damageError(std::string message) { return refusedError(std::move(message)).asDamage(); }
inline Status failedError(std::string message) { return {StatusCode::failed, std::move(message)}; }
inline Status internalError(std::string message) { return {StatusCode::internal, std::move(message)}; }

/// A value, or the Status of the failure. Reading the value of a failed Result is undefined.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : stored(std::move(value)) {}
  Result(Status status) : failure(std::move(status)) {}

  bool isOk() const { return stored.has_value(); }
  const Status &status() const { return failure; }
  Status takeStatus() { return std::move(failure); }
  T &operator*() { return *stored; }
  const T &operator*() const { return *stored; }
  T *operator->() { return &*stored; }
  const T *operator->() const { return &*stored; }

private:
  std::optional<T> stored;
  Status failure;
};

#define SLUICE_CONCAT_(a, b) a##b
#define SLUICE_CONCAT(a, b) SLUICE_CONCAT_(a, b)

/// Returns from the enclosing function if `expression` is a Status that is not ok.
#define SLUICE_RETURN_IF_ERROR(expression)                                                                             \
  do {                                                                                                                 \
    if (::sluice::Status returnedStatus = (expression); !returnedStatus.isOk())                                        \
      return returnedStatus;                                                                                           \
  } while (false)

/// Declares `declaration` from the Result `expression`, or returns its Status.
#define SLUICE_ASSIGN_OR_RETURN(declaration, expression)                                                               \
  SLUICE_ASSIGN_OR_RETURN_(SLUICE_CONCAT(result_, __LINE__), declaration, expression)
#define SLUICE_ASSIGN_OR_RETURN_(result, declaration, expression)                                                      \
  auto result = (expression);                                                                                          \
  if (!result.isOk())                                                                                                  \
    return result.takeStatus();                                                                                        \
  declaration = std::move(*result)

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_STATUS_H
