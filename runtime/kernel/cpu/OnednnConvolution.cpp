//===- OnednnConvolution.cpp - one convolution of oneDNN ---------------------------===//
#include "runtime/kernel/cpu/OnednnConvolution.h"

#include "runtime/kernel/catalogue/CpuWorkspace.h"
#include "runtime/kernel/cpu/vector/Loops.h"

namespace sluice::cpu {
namespace {

using dnnl::memory;

/// Takes the first implementation that is no plain loop and fits.
template <typename Descriptor>
bool choose(Descriptor &descriptor, const memory::desc &packed, std::uint64_t workspace) {
  auto fits = [&] {
    return !isPlainLoop(descriptor) &&
           (packed.get_size() + 63) / 64 * 64 + descriptor.scratchpad_desc().get_size() <= workspace;
  };
  while (!fits())
    if (!descriptor.next_impl())
      return false;
  return true;
}

/// A convolution over dy with a transposed weight, which gives dx: for windows with a stride of 1. The library's
/// forward form for AVX2 is the faster of its two.
std::optional<ConvolutionShape> transposedShape(const ConvolutionShape &s) {
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

std::size_t transposedBytes(const ConvolutionShape &s) {
  return transposedWeightBytes(s.outputs, s.inputs, s.kernel[0] * s.kernel[1]);
}

/// A weight [O, C, taps] as [C, O, reversed taps].
void transposeWeight(const ConvolutionShape &s, const float *from, float *to) {
  const std::int64_t taps = s.kernel[0] * s.kernel[1];
  for (std::int64_t o = 0; o < s.outputs; ++o)
    for (std::int64_t c = 0; c < s.inputs; ++c)
      for (std::int64_t tap = 0; tap < taps; ++tap)
        to[(c * s.outputs + o) * taps + taps - 1 - tap] = from[(o * s.inputs + c) * taps + tap];
}

} // namespace

Result<std::unique_ptr<LibraryConvolution>> LibraryConvolution::make(Kind kind, const ConvolutionShape &s, bool bias,
                                                                     int threadCount, std::uint64_t workspace) {
  if (kind == Kind::inputGrad)
    if (auto other = transposedShape(s); other && transposedBytes(s) <= workspace) {
      auto made = make(Kind::forward, *other, false, threadCount, workspace - transposedBytes(s));
      if (made.isOk()) {
        (*made)->transposed = s;
        return made;
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

    std::unique_ptr<LibraryConvolution> made(new LibraryConvolution);
    made->kind = kind;
    made->threads = threadCount;
    made->stream = dnnl::stream(engine);
    dnnl::convolution_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, direct, x, any, biasDesc, y, stride, dilation, padding, padding},
        attributes, engine);
    memory::desc packed, scratchpad;
    if (kind == Kind::forward) {
      if (!choose(forward, forward.weights_desc(), workspace))
        return refused;
      packed = forward.weights_desc();
      scratchpad = forward.scratchpad_desc();
      made->primitive = dnnl::convolution_forward(forward);
    } else if (kind == Kind::inputGrad) {
      dnnl::convolution_backward_data::primitive_desc backward({direct, x, any, y, stride, dilation, padding, padding},
                                                               attributes, engine, forward);
      if (!choose(backward, backward.weights_desc(), workspace))
        return refused;
      packed = backward.weights_desc();
      scratchpad = backward.scratchpad_desc();
      made->primitive = dnnl::convolution_backward_data(backward);
    } else {
      dnnl::convolution_backward_weights::primitive_desc backward(
          {direct, x, any, y, stride, dilation, padding, padding}, attributes, engine, forward);
      if (!choose(backward, backward.diff_weights_desc(), workspace))
        return refused;
      packed = backward.diff_weights_desc();
      scratchpad = backward.scratchpad_desc();
      made->primitive = dnnl::convolution_backward_weights(backward);
    }

    made->x = memoryOf(x), made->y = memoryOf(y);
    made->packed = memoryOf(packed), made->scratchpad = memoryOf(scratchpad);
    const bool makesWeight = kind == Kind::weightGrad;
    if (packed != plain) {
      made->weight = memoryOf(plain);
      const memory::desc &from = makesWeight ? packed : plain, &to = makesWeight ? plain : packed;
      dnnl::reorder::primitive_desc reorder(engine, from, engine, to, attributes);
      made->packedBytes = (packed.get_size() + 63) / 64 * 64;
      if (made->packedBytes + reorder.scratchpad_desc().get_size() > workspace)
        return refused;
      made->packScratchpad = memoryOf(reorder.scratchpad_desc());
      made->pack = dnnl::reorder(reorder);
      made->packArguments = {{DNNL_ARG_FROM, (makesWeight ? made->packed : made->weight).get()},
                             {DNNL_ARG_TO, (makesWeight ? made->weight : made->packed).get()},
                             {DNNL_ARG_SCRATCHPAD, made->packScratchpad.get()}};
    }
    if (made->packedBytes + scratchpad.get_size() > workspace)
      return refused;
    made->arguments = {{kind == Kind::inputGrad ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, made->x.get()},
                       {makesWeight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, made->packed.get()},
                       {kind == Kind::forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, made->y.get()},
                       {DNNL_ARG_SCRATCHPAD, made->scratchpad.get()}};
    if (bias) {
      made->bias = memoryOf(biasDesc);
      made->arguments.push_back({DNNL_ARG_BIAS, made->bias.get()});
    }
    return made;
  } catch (const dnnl::error &error) {
    return refusedError(std::string("oneDNN cannot prepare the convolution: ") + error.what());
  }
}

Status LibraryConvolution::run(void *xData, void *weightData, const void *biasData, void *yData, void *workspace) {
  LibraryThreads restored(threads);
  if (transposed) {
    transposeWeight(*transposed, static_cast<const float *>(weightData), static_cast<float *>(workspace));
    weightData = workspace;
    workspace = static_cast<char *>(workspace) + transposedBytes(*transposed);
    std::swap(xData, yData);
  }
  char *scratch = static_cast<char *>(workspace) + packedBytes;
  setData(x, xData);
  setData(y, yData);
  setData(scratchpad, scratch);
  setData(packed, pack ? workspace : weightData);
  if (bias)
    setData(bias, biasData);
  const auto compute = [&] { return execute("convolution", primitive, stream, arguments); };
  if (!pack)
    return compute();
  setData(weight, weightData);
  setData(packScratchpad, scratch);
  const auto reorder = [&] { return execute("convolution", *pack, stream, packArguments); };
  const bool makesWeight = kind == Kind::weightGrad;
  SLUICE_RETURN_IF_ERROR(makesWeight ? compute() : reorder());
  return makesWeight ? reorder() : compute();
}

} // namespace sluice::cpu
