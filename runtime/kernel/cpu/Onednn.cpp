//===- Onednn.cpp - one matrix product of oneDNN -----------------------------------===//
#include "runtime/kernel/cpu/Onednn.h"

namespace sluice::cpu {
namespace {

dnnl::memory::data_type typeOf(DType dtype) {
  return dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

/// A matrix with one stride of 1; if a dim is 1, its stride, which no element has, is chosen so that the library sees a
/// plain layout.
dnnl::memory::desc matrix(std::int64_t rows, std::int64_t columns, std::int64_t rowStride, std::int64_t columnStride,
                          DType dtype) {
  if (columns == 1)
    columnStride = rowStride == 1 ? rows : 1;
  if (rows == 1)
    rowStride = columnStride == 1 ? columns : 1;
  return {{rows, columns}, typeOf(dtype), dnnl::memory::dims{rowStride, columnStride}};
}

} // namespace

Result<std::unique_ptr<LibraryProduct>> LibraryProduct::make(const Problem &p) {
  LibraryThreads threads(p.threads);
  try {
    const dnnl::engine &engine = sharedEngine();
    auto a = matrix(p.m, p.k, p.aM, p.aK, p.input), b = matrix(p.k, p.n, p.bK, p.bN, p.input);
    auto c = matrix(p.m, p.n, p.cM, 1, p.output);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (p.accumulate) {
      dnnl::post_ops operations;
      operations.append_sum(1.f);
      attributes.set_post_ops(operations);
    }
    dnnl::memory::desc bias;
    if (p.bias)
      bias = dnnl::memory::desc({1, p.n}, typeOf(p.biasType), dnnl::memory::format_tag::ab);
    dnnl::matmul::desc description = p.bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
    dnnl::matmul::primitive_desc chosen(description, attributes, engine);
    bool needsMore = false;
    while (isPlainLoop(chosen) || chosen.scratchpad_desc().get_size() > p.scratchpad) {
      needsMore = needsMore || !isPlainLoop(chosen);
      if (chosen.next_impl())
        continue;
      if (!needsMore)
        return std::unique_ptr<LibraryProduct>();
      return refusedError(concat("oneDNN has no implementation of the matrix product with at most ", p.scratchpad,
                                 " bytes of scratchpad"));
    }
    std::unique_ptr<LibraryProduct> product(new LibraryProduct);
    product->stream = dnnl::stream(engine);
    product->primitive = dnnl::matmul(chosen);
    product->threads = p.threads;
    product->a = memoryOf(a), product->b = memoryOf(b), product->c = memoryOf(c);
    product->scratchpad = memoryOf(chosen.scratchpad_desc());
    product->arguments = {{DNNL_ARG_SRC, product->a.get()},
                          {DNNL_ARG_WEIGHTS, product->b.get()},
                          {DNNL_ARG_DST, product->c.get()},
                          {DNNL_ARG_SCRATCHPAD, product->scratchpad.get()}};
    if (p.bias) {
      product->bias = memoryOf(bias);
      product->arguments.push_back({DNNL_ARG_BIAS, product->bias.get()});
    }
    return product;
  } catch (const dnnl::error &error) {
    return refusedError(std::string("oneDNN cannot prepare the matrix product: ") + error.what());
  }
}

Status LibraryProduct::run(const void *aData, const void *bData, const void *biasData, void *cData,
                           void *scratchpadData) {
  LibraryThreads restored(threads);
  setData(a, aData);
  setData(b, bData);
  setData(c, cData);
  setData(scratchpad, scratchpadData);
  if (bias)
    setData(bias, biasData);
  return execute("matrix product", primitive, stream, arguments);
}

} // namespace sluice::cpu
