//===- Products.h - matrix products as tests write them ------------------------===//
#ifndef SLUICE_TEST_UNIT_KERNEL_PRODUCTS_H
#define SLUICE_TEST_UNIT_KERNEL_PRODUCTS_H

#include "test/unit/kernel/Harness.h"

namespace sluice::test {

struct Product {
  Shape a, b, c;
  bool transposeA = false, transposeB = false;
};

/// Small ones of every kind, which the kernels of every device take, and further ones.
inline std::vector<Product> smallProductsAnd(const std::vector<Product> &further) {
  std::vector<Product> all = {
      {{7, 13}, {13, 5}, {7, 5}},
      {{7, 13}, {5, 13}, {7, 5}, false, true},
      {{13, 7}, {13, 5}, {7, 5}, true, false},
      {{13, 7}, {5, 13}, {7, 5}, true, true},
      {{3, 7, 13}, {3, 13, 5}, {3, 7, 5}},
      {{3, 7, 13}, {13, 5}, {3, 7, 5}},
      {{2, 3, 7, 13}, {2, 1, 5, 13}, {2, 3, 7, 5}, false, true},
      {{1, 7, 13}, {3, 13, 5}, {3, 7, 5}},
      {{7, 1}, {1, 5}, {7, 5}},
      {{1, 13}, {13, 1}, {1, 1}},
      {{7, 0}, {0, 5}, {7, 5}},
      {{0, 3}, {3, 5}, {0, 5}},
  };
  all.insert(all.end(), further.begin(), further.end());
  return all;
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_KERNEL_PRODUCTS_H
