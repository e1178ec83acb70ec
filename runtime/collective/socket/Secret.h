//===- Secret.h - the secret that the ranks of a job share --------------------------===//
#ifndef SLUICE_RUNTIME_COLLECTIVE_SOCKET_SECRET_H
#define SLUICE_RUNTIME_COLLECTIVE_SOCKET_SECRET_H

#include "runtime/base/Sha256.h"
#include "runtime/base/Status.h"

namespace sluice::socket {

/// The digest of a file of 16 to 4096 bytes that only its owner can read and write.
Result<Digest> readSecretFile(const std::string &path);

/// The digest of the file `secret` in userCacheFolder(), which is created with random bytes if it is absent: processes
/// of one user on one machine share it. Several processes may call this at the same time.
Result<Digest> readUserSecret();

} // namespace sluice::socket

#endif // SLUICE_RUNTIME_COLLECTIVE_SOCKET_SECRET_H
