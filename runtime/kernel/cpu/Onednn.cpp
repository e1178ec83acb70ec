//===- Onednn.cpp - one matrix product of oneDNN -----------------------------------===//
#include "runtime/kernel/cpu/Onednn.h"

#include "runtime/base/Text.h"
#include "runtime/kernel/cpu/OnednnLibrary.h"

#include <string_view>
#include <vector>

namespace sluice::cpu {
namespace {

dnnl::memory::data_type typeOf(DType dtype) {
  return dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

/// A matrix with one stride of 1; if a dim is 1, its stride is chosen so that the library sees a plain layout.
dnnl::memory::desc matrix(std::int64_t rows, std::int64_t columns, std::int64_t rowStride, std::int64_t columnStride,
                          DType dtype) {
  if (columns == 1 && rowStride != 1)
    columnStride = 1;
  if (rows == 1 && columnStride == 1)
    rowStride = columns;
  if (rows == 1 && columnStride != 1)
    rowStride = 1;
  return {{rows, columns}, typeOf(dtype), dnnl::memory::dims{rowStride, columnStride}};
}

} // namespace

struct LibraryProduct::State {
  dnnl::stream stream;
  dnnl::matmul primitive;
  dnnl::memory a, b, bias, c, scratchpad;
  std::vector<dnnl_exec_arg_t> arguments;
  int threads;
};

LibraryProduct::LibraryProduct(std::unique_ptr<State> state) : state(std::move(state)) {}
LibraryProduct::~LibraryProduct() = default;

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
    // The library's last resort is a plain loop, a thousand times slower: no implementation at all.
    auto isPlain = [&] { return std::string_view(chosen.impl_info_str()).substr(0, 3) == "ref"; };
    bool needsMore = false;
    while (isPlain() || chosen.scratchpad_desc().get_size() > p.scratchpad) {
      needsMore = needsMore || !isPlain();
      if (chosen.next_impl())
        continue;
      if (!needsMore)
        return std::unique_ptr<LibraryProduct>();
      return refusedError(concat("oneDNN has no implementation of the matrix product with at most ", p.scratchpad,
                                 " bytes of scratchpad"));
    }
    auto state = std::make_unique<State>();
    state->stream = dnnl::stream(engine);
    state->primitive = dnnl::matmul(chosen);
    state->threads = p.threads;
    state->a = dnnl::memory(a, engine, nullptr);
    state->b = dnnl::memory(b, engine, nullptr);
    state->c = dnnl::memory(c, engine, nullptr);
    state->scratchpad = dnnl::memory(chosen.scratchpad_desc(), engine, nullptr);
    state->arguments = {{DNNL_ARG_SRC, state->a.get()},
                        {DNNL_ARG_WEIGHTS, state->b.get()},
                        {DNNL_ARG_DST, state->c.get()},
                        {DNNL_ARG_SCRATCHPAD, state->scratchpad.get()}};
    if (p.bias) {
      state->bias = dnnl::memory(bias, engine, nullptr);
      state->arguments.push_back({DNNL_ARG_BIAS, state->bias.get()});
    }
    return std::unique_ptr<LibraryProduct>(new LibraryProduct(std::move(state)));
  } catch (const dnnl::error &error) {
    return refusedError(std::string("oneDNN cannot prepare the matrix product: ") + error.what());
  }
}

Status LibraryProduct::run(const void *a, const void *b, const void *bias, void *c, void *scratchpad) {
  LibraryThreads threads(state->threads);
  dnnl_memory_set_data_handle(state->a.get(), const_cast<void *>(a));
  dnnl_memory_set_data_handle(state->b.get(), const_cast<void *>(b));
  dnnl_memory_set_data_handle(state->c.get(), c);
  dnnl_memory_set_data_handle(state->scratchpad.get(), scratchpad);
  if (state->bias)
    dnnl_memory_set_data_handle(state->bias.get(), const_cast<void *>(bias));
  dnnl_status_t status = dnnl_primitive_execute(state->primitive.get(), state->stream.get(),
                                                static_cast<int>(state->arguments.size()), state->arguments.data());
  if (status != dnnl_success)
    return failedError(concat("oneDNN matrix product failed with status ", static_cast<int>(status)));
  return Status::ok();
}

} // namespace sluice::cpu
