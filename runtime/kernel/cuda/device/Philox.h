//===- Philox.h - random words by counter ----------------------------------------------------------===//
//
// Philox 4x32-10, the same words as the CPU's (kernel/cpu/Philox.h).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_PHILOX_H
#define SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_PHILOX_H

#include "runtime/base/cuda/Element.h"

namespace sluice::cuda {

using Word = unsigned;
using Key = unsigned long long;

struct PhiloxWords {
  Word words[4];
};

SLUICE_DEVICE PhiloxWords philoxWords(Key seed, Key key, Key block) {
  Word x[4] = {static_cast<Word>(block), static_cast<Word>(block >> 32), static_cast<Word>(key),
               static_cast<Word>(key >> 32)};
  Word k0 = static_cast<Word>(seed), k1 = static_cast<Word>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const Key a = Key(0xD2511F53u) * x[0], b = Key(0xCD9E8D57u) * x[2];
    const Word next[4] = {static_cast<Word>(b >> 32) ^ x[1] ^ k0, static_cast<Word>(b),
                          static_cast<Word>(a >> 32) ^ x[3] ^ k1, static_cast<Word>(a)};
    for (int i = 0; i < 4; ++i)
      x[i] = next[i];
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{x[0], x[1], x[2], x[3]}};
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_KERNEL_CUDA_DEVICE_PHILOX_H
