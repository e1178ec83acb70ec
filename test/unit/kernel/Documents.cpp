//===- Documents.cpp - attention and rope in packed rows --------------------------===//
#include "Agreement.h"

using namespace sluice;
using namespace sluice::test;

namespace {

/// Documents of these lengths in each row, repeated until the row is full.
Tensor documentsOf(std::int64_t batch, std::int64_t length, const std::vector<std::int64_t> &lengths,
                   DType dtype = DType::i32) {
  Tensor documents(dtype, {batch, length});
  std::size_t next = 0;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t begin = 0, t = 0; begin < length; begin = t) {
      const std::int64_t end = std::min(length, begin + lengths[next++ % lengths.size()]);
      for (; t < end; ++t)
        documents.set(b * length + t, static_cast<double>(begin));
    }
  return documents;
}

struct PackedProblem {
  std::int64_t batch, length, heads, keyHeads, size;
  std::vector<std::int64_t> documents;
};

/// Full, causal, under a window, and with dropout.
std::vector<Attributes::Item> packedAttributes(int form) {
  std::vector<Attributes::Item> attributes = {number("scale", 0.3), integer("packed", 1),
                                              integer("causal", form == 1 || form == 2),
                                              integer("window", form == 2 ? 3 : 0)};
  if (form == 3)
    attributes.insert(attributes.end(), {number("dropout", 0.3), integer("key", 6)});
  return attributes;
}
void addDropoutNumbers(std::vector<Tensor> &inputs, int form) {
  for (double drawnBy : {42, 3, 12})
    if (form == 3)
      inputs.push_back(scalar(DType::i64, drawnBy));
}

TEST(Documents, FastFormsOfAttentionAgree) {
  for (const PackedProblem &c : {PackedProblem{2, 9, 4, 2, 5, {1, 4}}, PackedProblem{1, 70, 2, 1, 16, {33, 30}},
                                 PackedProblem{3, 1, 1, 1, 4, {1}}, PackedProblem{1, 140, 1, 1, 33, {1, 129}},
                                 PackedProblem{0, 3, 2, 1, 4, {2}}, PackedProblem{2, 20, 2, 2, 8, {20}}})
    for (DType dtype : floats)
      for (int form : {0, 1, 2, 3}) {
        const DType statistics = dtype == DType::f64 ? DType::f64 : DType::f32;
        const Shape q = {c.batch, c.length, c.heads, c.size}, k = {c.batch, c.length, c.keyHeads, c.size};
        const std::vector<Attributes::Item> attributes = packedAttributes(form);
        std::vector<Tensor> inputs = {Tensor(dtype, q).normal(25), Tensor(dtype, k).normal(26),
                                      Tensor(dtype, k).normal(27),
                                      documentsOf(c.batch, c.length, c.documents, form == 1 ? DType::i64 : DType::i32)};
        addDropoutNumbers(inputs, form);
        Tensor out(dtype, q), lse(statistics, {c.batch, c.heads, c.length});
        const std::string what = std::string(dtypeName(dtype)) + " form " + std::to_string(form);
        const double units = static_cast<double>(std::max<std::int64_t>(60, 4 * c.size));
        compare({"attention", {}, 1, attributes}, inputs, {out, lse}, units, what);
        mustRun({"attention", KernelFlavour::reference, 1, attributes}, pointers(inputs), {&out, &lse});
        std::vector<Tensor> ofGradient = {Tensor(dtype, q).normal(28), inputs[0], inputs[1], inputs[2], out, lse};
        ofGradient.insert(ofGradient.end(), inputs.begin() + 3, inputs.end());
        compare({"attention_grad", {}, 1, attributes}, ofGradient,
                {Tensor(dtype, q), Tensor(dtype, k), Tensor(dtype, k)}, 400, what, {1, 1, 1});
      }
}

/// The bits of a document's rows, results and gradients, are those of the document without the others.
TEST(Documents, AttentionOfEachAlone) {
  constexpr std::int64_t length = 150, heads = 4, keyHeads = 2, size = 16;
  const std::vector<std::int64_t> lengths = {1, 37, 64, 2, 46};
  for (DType dtype : {DType::f32, DType::bf16})
    for (int form : {0, 1, 2}) {
      const Shape q = {1, length, heads, size}, k = {1, length, keyHeads, size};
      std::vector<Tensor> packed = {Tensor(dtype, q).normal(1), Tensor(dtype, k).normal(2), Tensor(dtype, k).normal(3),
                                    documentsOf(1, length, lengths)};
      std::vector<Tensor> results = {Tensor(dtype, q), Tensor(DType::f32, {1, heads, length})};
      mustRun({"attention", {}, 1, packedAttributes(form)}, pointers(packed), pointers(results));
      std::vector<Tensor>
          ofGradient = {Tensor(dtype, q).normal(4), packed[0], packed[1], packed[2], results[0], results[1], packed[3]},
          gradients = {Tensor(dtype, q), Tensor(dtype, k), Tensor(dtype, k)};
      mustRun({"attention_grad", {}, 1, packedAttributes(form)}, pointers(ofGradient), pointers(gradients));
      std::int64_t begin = 0;
      for (const std::int64_t count : lengths) {
        // Tokens of dim 1 or, of the statistics, of dim 2.
        const auto part = [&](const Tensor &whole) {
          Shape shape =
              whole.operand.rank == 4 ? Shape{1, count, whole.operand.extent[2], size} : Shape{1, heads, count};
          Tensor tensor(whole.operand.dtype, shape);
          for (std::int64_t i = 0; i < tensor.size(); ++i) {
            const std::int64_t row = whole.operand.rank == 4 ? whole.operand.extent[2] * size : 0;
            tensor.set(i, whole.at(row != 0 ? begin * row + i : i / count * length + begin + i % count));
          }
          return tensor;
        };
        std::vector<Attributes::Item> attributes = packedAttributes(form);
        attributes[1] = integer("packed", 0);
        std::vector<Tensor> alone = {part(packed[0]), part(packed[1]), part(packed[2])},
                            own = {part(results[0]), part(results[1])};
        mustRun({"attention", {}, 1, attributes}, pointers(alone), pointers(own));
        std::vector<Tensor> ownInputs = {part(ofGradient[0]), alone[0], alone[1], alone[2], own[0], own[1]},
                            ownGradients = {part(gradients[0]), part(gradients[1]), part(gradients[2])};
        mustRun({"attention_grad", {}, 1, attributes}, pointers(ownInputs), pointers(ownGradients));
        for (std::size_t i = 0; i < 2; ++i)
          EXPECT_EQ(own[i].memory, part(results[i]).memory) << count << " tokens, form " << form << ", result " << i;
        for (std::size_t i = 0; i < 3; ++i)
          EXPECT_EQ(ownGradients[i].memory, part(gradients[i]).memory)
              << count << " tokens, form " << form << ", gradient " << i;
        begin += count;
      }
      ASSERT_EQ(begin, length);
    }
}

TEST(Documents, AttentionRefusesBadOperands) {
  Tensor q(DType::f32, {1, 2, 1, 4}), k(DType::f32, {1, 3, 1, 4}), lse(DType::f32, {1, 1, 2}),
      documents(DType::i32, {1, 2}), wide(DType::i32, {1, 3}), mask(DType::u8, {1, 1, 1, 2});
  const auto refuses = [&](std::vector<Tensor *> inputs, std::int64_t isMasked, const std::string &text) {
    const Status status =
        tryRun({"attention", {}, 1, {integer("packed", 1), integer("masked", isMasked)}}, inputs, {&q, &lse});
    EXPECT_FALSE(status.isOk());
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  };
  refuses({&q, &k, &k, &documents}, 0, "documents, expected neither mask nor bias, and 2 keys but got 3");
  refuses({&q, &q, &q, &mask, &documents}, 1, "documents, expected neither mask nor bias, and 2 keys but got 2");
  refuses({&q, &q, &q}, 0, "inputs, expected 4 but got 3");
  refuses({&q, &q, &q, &wide}, 0, "extents, expected [1, ");
  refuses({&q, &q, &q, &lse}, 0, "input 3 dtype, expected i32, i64 or u8 but got f32");
}

TEST(Documents, Rope) {
  for (DType dtype : floats)
    for (std::int64_t inverse : {0, 1})
      for (DType index : {DType::i32, DType::i64}) {
        const std::vector<Attributes::Item> attributes = {number("theta", 100), integer("packed", 1),
                                                          integer("inverse", inverse), integer("position", 2)};
        const Shape shape = {3, 12, 2, 8};
        Tensor x = Tensor(dtype, shape).normal(7), documents = documentsOf(3, 12, {1, 5, 4}, index);
        compare({"rope", {}, 1, attributes}, {x, documents}, {Tensor(dtype, shape)}, 8, std::string(dtypeName(dtype)));
        // The document from token 1 to token 5 of the first row.
        Tensor y(dtype, shape), part(dtype, {1, 5, 2, 8}), own(dtype, {1, 5, 2, 8});
        mustRun({"rope", {}, 1, attributes}, {&x, &documents}, {&y});
        for (std::int64_t i = 0; i < part.size(); ++i)
          part.set(i, x.at(16 + i));
        mustRun({"rope", {}, 1, {number("theta", 100), integer("inverse", inverse), integer("position", 2)}}, {&part},
                {&own});
        for (std::int64_t i = 0; i < own.size(); ++i)
          EXPECT_EQ(own.at(i), y.at(16 + i));
      }
}

/// A launch with documents is not one of a list of tensors.
TEST(Documents, RopeOfAListIsRefused) {
  Tensor x(DType::f32, {1, 2, 1, 4}), y(DType::f32, {1, 2, 1, 4}), z(DType::f32, {1, 2, 1, 4}),
      documents(DType::i32, {1, 2});
  const Status status =
      tryRun({"rope", {}, 1, {number("theta", 100), integer("packed", 1)}}, {&x, &x, &documents}, {&y, &z});
  EXPECT_EQ(status.message(), "kernel 'rope' inputs, expected 2 but got 3");
}

} // namespace
