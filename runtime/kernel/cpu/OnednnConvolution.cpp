//===- OnednnConvolution.cpp - one convolution of oneDNN ---------------------------===//
#include "runtime/kernel/cpu/OnednnConvolution.h"

#include "runtime/kernel/catalogue/CpuWorkspace.h"
#include "runtime/kernel/cpu/OnednnLibrary.h"
#include "runtime/kernel/cpu/vector/Loops.h"

#include <optional>
#include <string_view>

namespace sluice::cpu {
namespace {

using dnnl::memory;

/// Takes the first implementation that is no plain loop and fits.
template <typename Descriptor>
bool choose(Descriptor &descriptor, const memory::desc &packed, std::uint64_t workspace) {
  auto fits = [&] {
    return std::string_view(descriptor.impl_info_str()).substr(0, 3) != "ref" &&
           (packed.get_size() + 63) / 64 * 64 + descriptor.scratchpad_desc().get_size() <= workspace;
  };
  while (!fits())
    if (!descriptor.next_impl())
      return false;
  return true;
}

memory at(const memory::desc &desc) { return memory(desc, sharedEngine(), nullptr); }

/// A convolution over dy with a transposed weight, which gives dx: for windows with a stride of 1. The library's
/// forward form for AVX2 is the faster of its two.
std::optional<ConvolutionShape> transposed(const ConvolutionShape &s) {
  ConvolutionShape t = s;
  std::swap(t.inputs, t.outputs);
  std::swap(t.in, t.out);
  for (int d = 0; d < 2; ++d) {
    t.padding[d] = s.dilation[d] * (s.kernel[d] - 1) - s.padding[d];
    if (s.stride[d] != 1 || t.padding[d] < 0)
      return std::nullopt;
  }
  if (s.groups != 1 || loops().isa != "avx2")
    return std::nullopt;
  return t;
}

} // namespace

struct LibraryConvolution::State {
  /// A weight [O, C, taps] as [C, O, taps backwards].
  struct TransposedWeight {
    std::int64_t outputs = 0, inputs = 0, taps = 0;
    std::size_t bytes() const { return transposedWeightBytes(outputs, inputs, taps); }
    void write(const float *from, float *to) const {
      for (std::int64_t o = 0; o < outputs; ++o)
        for (std::int64_t c = 0; c < inputs; ++c)
          for (std::int64_t tap = 0; tap < taps; ++tap)
            to[(c * outputs + o) * taps + taps - 1 - tap] = from[(o * inputs + c) * taps + tap];
    }
  };

  Kind kind;
  dnnl::stream stream;
  dnnl::primitive primitive;
  /// Reorder of the weight from torch's layout to that of the implementation; none if they are equal.
  std::optional<dnnl::reorder> pack;
  memory x, y, bias, weight, packed, scratchpad, packScratchpad;
  std::size_t packedBytes = 0;
  std::optional<TransposedWeight> transposedWeight;
  std::vector<dnnl_exec_arg_t> arguments, packArguments;
  int threads = 1;
};

LibraryConvolution::LibraryConvolution(std::unique_ptr<State> state) : state(std::move(state)) {}
LibraryConvolution::~LibraryConvolution() = default;

Result<std::unique_ptr<LibraryConvolution>> LibraryConvolution::make(Kind kind, const ConvolutionShape &s, bool bias,
                                                                     int threadCount, std::uint64_t workspace) {
  if (kind == Kind::inputGrad)
    if (auto other = transposed(s)) {
      State::TransposedWeight weight{s.outputs, s.inputs, s.kernel[0] * s.kernel[1]};
      if (weight.bytes() <= workspace) {
        auto transposed = make(Kind::forward, *other, false, threadCount, workspace - weight.bytes());
        if (transposed.isOk()) {
          (*transposed)->state->transposedWeight = weight;
          return transposed;
        }
      }
    }
  LibraryThreads threads(threadCount);
  Status refused = refusedError(
      concat("oneDNN has no implementation of the convolution with at most ", workspace, " bytes of workspace"));
  try {
    using Type = memory::data_type;
    using Tag = memory::format_tag;
    const dnnl::engine &engine = sharedEngine();
    memory::dims extents = {s.outputs, s.inputs / s.groups, s.kernel[0], s.kernel[1]};
    if (s.groups > 1)
      extents = {s.groups, s.outputs / s.groups, s.inputs / s.groups, s.kernel[0], s.kernel[1]};
    memory::dims stride = {s.stride[0], s.stride[1]}, padding = {s.padding[0], s.padding[1]};
    memory::dims dilation = {s.dilation[0] - 1, s.dilation[1] - 1};
    memory::desc x({s.images, s.inputs, s.in[0], s.in[1]}, Type::f32, Tag::nhwc);
    memory::desc y({s.images, s.outputs, s.out[0], s.out[1]}, Type::f32, Tag::nhwc);
    memory::desc plain(extents, Type::f32, s.groups > 1 ? Tag::goihw : Tag::oihw), any(extents, Type::f32, Tag::any);
    memory::desc biasDesc = bias ? memory::desc({s.outputs}, Type::f32, Tag::a) : memory::desc();
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    constexpr auto direct = dnnl::algorithm::convolution_direct;

    auto state = std::make_unique<State>();
    state->kind = kind;
    state->threads = threadCount;
    state->stream = dnnl::stream(engine);
    dnnl::convolution_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, direct, x, any, biasDesc, y, stride, dilation, padding, padding},
        attributes, engine);
    memory::desc packed, scratchpad;
    if (kind == Kind::forward) {
      if (!choose(forward, packed = forward.weights_desc(), workspace))
        return refused;
      packed = forward.weights_desc();
      scratchpad = forward.scratchpad_desc();
      state->primitive = dnnl::convolution_forward(forward);
    } else if (kind == Kind::inputGrad) {
      dnnl::convolution_backward_data::primitive_desc backward({direct, x, any, y, stride, dilation, padding, padding},
                                                               attributes, engine, forward);
      if (!choose(backward, backward.weights_desc(), workspace))
        return refused;
      packed = backward.weights_desc();
      scratchpad = backward.scratchpad_desc();
      state->primitive = dnnl::convolution_backward_data(backward);
    } else {
      dnnl::convolution_backward_weights::primitive_desc backward(
          {direct, x, any, y, stride, dilation, padding, padding}, attributes, engine, forward);
      if (!choose(backward, backward.diff_weights_desc(), workspace))
        return refused;
      packed = backward.diff_weights_desc();
      scratchpad = backward.scratchpad_desc();
      state->primitive = dnnl::convolution_backward_weights(backward);
    }

    state->x = at(x), state->y = at(y), state->packed = at(packed), state->scratchpad = at(scratchpad);
    const bool makesWeight = kind == Kind::weightGrad;
    if (packed != plain) {
      state->weight = at(plain);
      const memory::desc &from = makesWeight ? packed : plain, &to = makesWeight ? plain : packed;
      dnnl::reorder::primitive_desc reorder(engine, from, engine, to, attributes);
      state->packedBytes = (packed.get_size() + 63) / 64 * 64;
      if (state->packedBytes + reorder.scratchpad_desc().get_size() > workspace)
        return refused;
      state->packScratchpad = at(reorder.scratchpad_desc());
      state->pack = dnnl::reorder(reorder);
      state->packArguments = {{DNNL_ARG_FROM, (makesWeight ? state->packed : state->weight).get()},
                              {DNNL_ARG_TO, (makesWeight ? state->weight : state->packed).get()},
                              {DNNL_ARG_SCRATCHPAD, state->packScratchpad.get()}};
    }
    if (state->packedBytes + scratchpad.get_size() > workspace)
      return refused;
    const bool isForward = kind == Kind::forward;
    state->arguments = {{kind == Kind::inputGrad ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, state->x.get()},
                        {makesWeight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, state->packed.get()},
                        {isForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, state->y.get()},
                        {DNNL_ARG_SCRATCHPAD, state->scratchpad.get()}};
    if (bias) {
      state->bias = at(biasDesc);
      state->arguments.push_back({DNNL_ARG_BIAS, state->bias.get()});
    }
    return std::unique_ptr<LibraryConvolution>(new LibraryConvolution(std::move(state)));
  } catch (const dnnl::error &error) {
    return refusedError(std::string("oneDNN cannot prepare the convolution: ") + error.what());
  }
}

static Status execute(const dnnl::primitive &primitive, const dnnl::stream &stream,
                      const std::vector<dnnl_exec_arg_t> &arguments) {
  dnnl_status_t status =
      dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(arguments.size()), arguments.data());
  if (status == dnnl_success)
    return Status::ok();
  return failedError(concat("oneDNN convolution failed with status ", static_cast<int>(status)));
}

Status LibraryConvolution::run(void *x, void *weight, const void *bias, void *y, void *workspace) {
  LibraryThreads threads(state->threads);
  if (state->transposedWeight) {
    state->transposedWeight->write(static_cast<const float *>(weight), static_cast<float *>(workspace));
    weight = workspace;
    workspace = static_cast<char *>(workspace) + state->transposedWeight->bytes();
    std::swap(x, y);
  }
  char *scratch = static_cast<char *>(workspace) + state->packedBytes;
  auto bind = [](const memory &memory, void *data) { dnnl_memory_set_data_handle(memory.get(), data); };
  bind(state->x, x);
  bind(state->y, y);
  bind(state->scratchpad, scratch);
  bind(state->packed, state->pack ? workspace : weight);
  if (state->bias)
    bind(state->bias, const_cast<void *>(bias));
  if (!state->pack)
    return execute(state->primitive, state->stream, state->arguments);
  bind(state->weight, weight);
  bind(state->packScratchpad, scratch);
  const bool makesWeight = state->kind == Kind::weightGrad;
  if (!makesWeight)
    SLUICE_RETURN_IF_ERROR(execute(*state->pack, state->stream, state->packArguments));
  SLUICE_RETURN_IF_ERROR(execute(state->primitive, state->stream, state->arguments));
  return makesWeight ? execute(*state->pack, state->stream, state->packArguments) : Status::ok();
}

} // namespace sluice::cpu
