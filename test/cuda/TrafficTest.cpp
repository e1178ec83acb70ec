//===- TrafficTest.cpp - bytes that kernels move, counted on the emulated device ------------------------------===//
//
// Sluice's kernels of the two benchmark plans (GPT-2 124M and a Llama of 7B in bf16, tools/bundle.sh), with fewer rows
// and the emulated device's four multiprocessors. A kernel's minimum is each sector of its operands once; of a table
// only the rows that indices name.
//
//===----------------------------------------------------------------------===//
#include "test/cuda/KernelHarness.h"

namespace sluice::test {
namespace {

/// The largest allowed ratio of moved bytes to the minimum.
constexpr double mostMoved = 1.15;
/// The largest allowed ratio of moved bytes, and of instructions, of twice the rows; a constant part makes it smaller.
constexpr double mostOfTwice = 2.1;

/// The least share of the moved bytes in requests of 8 or 16 bytes a thread. Statistics, indices and the sums of a
/// second stage have 4.
constexpr double leastWide = 0.85;
/// The largest allowed ratio of bank conflicts to requests of shared memory.
constexpr double mostConflicts = 0.1;

std::uint64_t sectorsOf(const Tensor &tensor) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(tensor.size()) * dtypeBytes(tensor.operand.dtype);
  return (bytes + sectorBytes - 1) / sectorBytes;
}

struct Case {
  KernelRun run;
  std::vector<Tensor> inputs, outputs;
  /// Sectors that the operands have and the kernel need not move, or negative ones that it moves in addition.
  std::int64_t unused = 0;

  double minimum() const {
    std::int64_t sectors = -unused;
    for (const std::vector<Tensor> *list : {&inputs, &outputs})
      for (const Tensor &tensor : *list)
        sectors += static_cast<std::int64_t>(sectorsOf(tensor));
    return static_cast<double>(sectors) * sectorBytes;
  }
};

struct Sum {
  double moved = 0, wide = 0, instructions = 0, conflicts = 0, sharedRequests = 0;
  std::string launches;
};

class CudaTraffic : public CudaKernels {
protected:
  CudaTraffic() {
    copies = true;
    checksRaces = false;
  }
  void SetUp() override {
    if (onGpu() || !Traffic::isAvailable())
      GTEST_SKIP() << "counts need the emulated device, in a build by GCC without a sanitizer";
    CudaKernels::SetUp();
  }
  void TearDown() override {
    setTraffic(nullptr);
    if (device)
      CudaKernels::TearDown();
  }

  Sum count(const Case &c) {
    std::vector<Tensor> in = c.inputs, out = c.outputs;
    Traffic traffic;
    traffic.track(arena, arenaBytes);
    setTraffic(&traffic);
    const Status status = runOnDevice(c.run, in, out);
    setTraffic(nullptr);
    EXPECT_TRUE(status.isOk()) << c.run.kernel << ": " << status.message();
    Sum sum;
    for (const LaunchTraffic &launch : traffic.launches()) {
      sum.moved += static_cast<double>(launch.movedBytes());
      sum.wide += static_cast<double>(launch.wideBytes());
      sum.instructions += static_cast<double>(launch.instructions());
      sum.conflicts += static_cast<double>(launch.conflicts);
      sum.sharedRequests += static_cast<double>(launch.sharedRequests);
      sum.launches += "  " + launch.kernel + ", " + std::to_string(launch.blocks) + " blocks of " +
                      std::to_string(launch.threads) + ": loads " + text(launch.loads) + ", stores " +
                      text(launch.stores) + ", shared " + std::to_string(launch.sharedRequests) + " with " +
                      std::to_string(launch.conflicts) + " conflicts, barriers " +
                      std::to_string(launch.blockBarriers) + " and " + std::to_string(launch.warpBarriers) + "\n";
    }
    return sum;
  }

  /// `make(rows)`: the case with as many rows. `conflicts`: the largest allowed share of conflicts.
  template <typename Make>
  void hold(const std::string &title, std::int64_t rows, Make make, double conflicts = mostConflicts) {
    const Case once = make(rows), twice = make(2 * rows);
    const Sum one = count(once), two = count(twice);
    const double ratio = one.moved / once.minimum(), ofTwo = two.moved / twice.minimum();
    const double bytes = two.moved / one.moved, instructions = two.instructions / one.instructions;
    char line[160];
    std::snprintf(line, sizeof line, "%s: %.3f and %.3f of the minimum; twice the rows: %.2f bytes, %.2f instructions",
                  title.c_str(), ratio, ofTwo, bytes, instructions);
    std::printf("%s\n", line);
    EXPECT_LE(std::max(ratio, ofTwo), mostMoved) << line << "\n" << one.launches;
    // Less than the minimum means accesses that were not seen.
    EXPECT_GE(std::min(ratio, ofTwo), 0.999) << line << "\n" << one.launches;
    EXPECT_GE(one.wide, leastWide * one.moved) << line << "\n" << one.launches;
    EXPECT_LE(bytes, mostOfTwice) << line;
    EXPECT_LE(instructions, mostOfTwice) << line << "\n" << one.launches << two.launches;
    EXPECT_LE(one.conflicts, one.sharedRequests * conflicts) << line << "\n" << one.launches;
  }

private:
  static std::string text(const GlobalTraffic &of) {
    std::string result = std::to_string(of.requests) + " of " + std::to_string(of.sectors) + " sectors (";
    for (std::size_t i = 0; i < of.byWidth.size(); ++i)
      if (of.byWidth[i] != 0)
        result += " " + std::to_string(1 << i) + " B: " + std::to_string(of.byWidth[i]);
    return result + ")";
  }
};

constexpr DType bf16 = DType::bf16, f32 = DType::f32;

Tensor drawn(DType type, const Shape &shape, unsigned seed = 1) { return Tensor(type, shape).normal(seed); }

TEST_F(CudaTraffic, Casts) {
  hold("cast, f32 to bf16", 256,
       [](std::int64_t n) { return Case{{"cast"}, {drawn(f32, {n, 768})}, {Tensor(bf16, {n, 768})}}; });
  hold("cast of a list, f32 to bf16", 256, [](std::int64_t n) {
    return Case{{"cast"},
                {drawn(f32, {n, 768}), drawn(f32, {768}), drawn(f32, {n, 256})},
                {Tensor(bf16, {n, 768}), Tensor(bf16, {768}), Tensor(bf16, {n, 256})}};
  });
  hold("cast, bf16 to f32", 256,
       [](std::int64_t n) { return Case{{"cast"}, {drawn(bf16, {n, 768})}, {Tensor(f32, {n, 768})}}; });
}

TEST_F(CudaTraffic, Pointwise) {
  const auto binary = [](const char *kernel, DType type) {
    return [=](std::int64_t n) {
      return Case{{kernel}, {drawn(type, {n, 768}), drawn(type, {n, 768})}, {Tensor(type, {n, 768})}};
    };
  };
  hold("add, bf16", 256, binary("add", bf16));
  hold("add, f32", 256, binary("add", f32));
  hold("swiglu, bf16", 256, binary("swiglu", bf16));
  hold("add, rows that repeat", 8, [](std::int64_t n) {
    return Case{{"add"},
                {drawn(bf16, {n, 16, 768}), drawn(bf16, {16, 768})},
                {Tensor(bf16, {n, 16, 768})},
                // The second operand is read for each of the n, which the algorithm does in any order of the output.
                -static_cast<std::int64_t>(n - 1) * 16 * 768 * 2 / 32};
  });
  hold("swiglu_grad, bf16", 256, [](std::int64_t n) {
    return Case{{"swiglu_grad"},
                {drawn(bf16, {n, 768}), drawn(bf16, {n, 768}), drawn(bf16, {n, 768})},
                {Tensor(bf16, {n, 768}), Tensor(bf16, {n, 768})}};
  });
}

TEST_F(CudaTraffic, ColumnSums) {
  for (std::int64_t width : {768, 3072})
    hold("reduce_sum over rows, width " + std::to_string(width), 512, [&](std::int64_t n) {
      return Case{
          {"reduce_sum", {}, 1, {list("dims", {0, 1})}}, {drawn(bf16, {4, n / 4, width})}, {Tensor(bf16, {width})}};
    });
  hold("reduce_sum over the batch", 32, [](std::int64_t n) {
    return Case{{"reduce_sum", {}, 1, {list("dims", {0})}}, {drawn(bf16, {n, 16, 768})}, {Tensor(bf16, {16, 768})}};
  });
}

TEST_F(CudaTraffic, Norms) {
  hold("layer_norm", 1024, [](std::int64_t n) {
    return Case{{"layer_norm", {}, 1, {number("epsilon", 1e-5)}},
                {drawn(bf16, {n, 768}), drawn(bf16, {768}), drawn(bf16, {768})},
                {Tensor(bf16, {n, 768}), Tensor(f32, {n}), Tensor(f32, {n})}};
  });
  hold("layer_norm_grad", 2048, [](std::int64_t n) {
    return Case{{"layer_norm_grad"},
                {drawn(bf16, {n, 768}), drawn(bf16, {n, 768}), drawn(bf16, {768}), drawn(f32, {n}), drawn(f32, {n})},
                {Tensor(bf16, {n, 768}), Tensor(bf16, {768}), Tensor(bf16, {768})}};
  });
  hold("layer_norm_grad with an addend", 2048, [](std::int64_t n) {
    return Case{{"layer_norm_grad"},
                {drawn(bf16, {n, 768}), drawn(bf16, {n, 768}), drawn(bf16, {768}), drawn(f32, {n}), drawn(f32, {n}),
                 drawn(bf16, {n, 768})},
                {Tensor(bf16, {n, 768}), Tensor(bf16, {768}), Tensor(bf16, {768})}};
  });
  hold("layer_norm_grad_and_sum with an addend", 2048, [](std::int64_t n) {
    return Case{{"layer_norm_grad_and_sum"},
                {drawn(bf16, {n, 768}), drawn(bf16, {n, 768}), drawn(bf16, {768}), drawn(f32, {n}), drawn(f32, {n}),
                 drawn(bf16, {n, 768})},
                {Tensor(bf16, {n, 768}), Tensor(bf16, {768}), Tensor(bf16, {768}), Tensor(f32, {768})}};
  });
  hold("rms_norm", 256, [](std::int64_t n) {
    return Case{{"rms_norm", {}, 1, {number("epsilon", 1e-5)}},
                {drawn(bf16, {n, 4096}), drawn(bf16, {4096})},
                {Tensor(bf16, {n, 4096}), Tensor(f32, {n})}};
  });
  hold("rms_norm_grad", 1024, [](std::int64_t n) {
    return Case{{"rms_norm_grad"},
                {drawn(bf16, {n, 4096}), drawn(bf16, {n, 4096}), drawn(bf16, {4096}), drawn(f32, {n})},
                {Tensor(bf16, {n, 4096}), Tensor(bf16, {4096})}};
  });
  hold("rms_norm_grad with an addend", 1024, [](std::int64_t n) {
    return Case{
        {"rms_norm_grad"},
        {drawn(bf16, {n, 4096}), drawn(bf16, {n, 4096}), drawn(bf16, {4096}), drawn(f32, {n}), drawn(bf16, {n, 4096})},
        {Tensor(bf16, {n, 4096}), Tensor(bf16, {4096})}};
  });
}

TEST_F(CudaTraffic, Softmax) {
  hold("softmax", 256,
       [](std::int64_t n) { return Case{{"softmax"}, {drawn(bf16, {n, 1024})}, {Tensor(bf16, {n, 1024})}}; });
  hold("softmax_grad", 256, [](std::int64_t n) {
    return Case{{"softmax_grad"}, {drawn(bf16, {n, 1024}), drawn(bf16, {n, 1024}, 2)}, {Tensor(bf16, {n, 1024})}};
  });
}

TEST_F(CudaTraffic, Losses) {
  for (std::int64_t classes : {5025, 3200}) {
    const std::string width = ", " + std::to_string(classes) + " classes";
    const auto targets = [=](std::int64_t n) { return Tensor(DType::i32, {n}).below(2, classes); };
    hold("cross_entropy" + width, 64, [&](std::int64_t n) {
      return Case{{"cross_entropy"}, {drawn(bf16, {n, classes}), targets(n)}, {Tensor(f32, {}), Tensor(f32, {n})}};
    });
    hold("cross_entropy_grad" + width, 64, [&](std::int64_t n) {
      return Case{{"cross_entropy_grad"},
                  {scalar(f32, 1), drawn(bf16, {n, classes}), targets(n), drawn(f32, {n})},
                  {Tensor(bf16, {n, classes})}};
    });
  }
  // Rows at multiples of 64 elements, as in a plan.
  hold("cross_entropy_and_grad", 64, [](std::int64_t n) {
    const auto rows = [=] { return Tensor(bf16, {n, 5025}, Layout::aligned); };
    return Case{{"cross_entropy_and_grad"},
                {rows().normal(1), Tensor(DType::i32, {n}).below(2, 5025), scalar(f32, 1)},
                {Tensor(f32, {}), Tensor(f32, {n}), rows()}};
  });
}

TEST_F(CudaTraffic, Embeddings) {
  constexpr std::int64_t rows = 1500;
  // The sort counts digits, of which any two may be in one bank.
  constexpr double anyDigits = 2;
  hold("embedding", 256, [](std::int64_t n) {
    const Tensor table = drawn(bf16, {rows, 768}), values(bf16, {n, 768});
    return Case{{"embedding"},
                {table, Tensor(DType::i32, {n}).below(3, rows)},
                {values},
                static_cast<std::int64_t>(sectorsOf(table)) - static_cast<std::int64_t>(sectorsOf(values))};
  });
  hold(
      "embedding_grad", 512,
      [](std::int64_t n) {
        return Case{{"embedding_grad", {}, 1, {integer("padding", -1)}},
                    {drawn(bf16, {n, 768}), Tensor(DType::i32, {n}).below(3, rows)},
                    {Tensor(bf16, {rows, 768})}};
      },
      anyDigits);
  // Rows that no index names are not moved; the others are read and written.
  hold(
      "embedding_grad to a sum", 512,
      [](std::int64_t n) {
        const Tensor indices = Tensor(DType::i32, {n}).below(3, rows), table(f32, {rows, 768});
        std::set<double> named;
        for (double row : indices.values())
          named.insert(row);
        const auto other = static_cast<std::int64_t>(sectorsOf(table)) * (rows - std::ssize(named)) / rows;
        return Case{{"embedding_grad", {}, 1, {integer("padding", -1), integer("sum", 1)}},
                    {drawn(bf16, {n, 768}), indices, table},
                    {table},
                    2 * other};
      },
      anyDigits);
  hold(
      "scatter_add", 512,
      [](std::int64_t n) {
        return Case{{"scatter_add"},
                    {drawn(bf16, {n, 768}), Tensor(DType::i32, {n}).below(3, rows)},
                    {Tensor(bf16, {rows, 768})}};
      },
      anyDigits);
}

TEST_F(CudaTraffic, Rope) {
  hold("rope", 64, [](std::int64_t n) {
    return Case{{"rope", {}, 1, {number("theta", 1e4)}}, {drawn(bf16, {2, n, 8, 128})}, {Tensor(bf16, {2, n, 8, 128})}};
  });
  hold("rope of queries and keys", 64, [](std::int64_t n) {
    return Case{{"rope", {}, 1, {number("theta", 1e4)}},
                {drawn(bf16, {2, n, 8, 128}), drawn(bf16, {2, n, 2, 128})},
                {Tensor(bf16, {2, n, 8, 128}), Tensor(bf16, {2, n, 2, 128})}};
  });
}

TEST_F(CudaTraffic, Updates) {
  hold("adamw", 64, [](std::int64_t n) {
    Case c{{"adamw"}, {}, {}};
    for (const Shape &shape : {Shape{n, 768}, Shape{768}, Shape{n, 256}}) {
      const Tensor p = drawn(f32, shape), m = drawn(f32, shape, 2);
      Tensor v = drawn(f32, shape, 3);
      for (std::int64_t i = 0; i < v.size(); ++i)
        v.set(i, std::fabs(v.at(i)));
      c.inputs.insert(c.inputs.end(), {p, drawn(f32, shape, 4), m, v});
      c.outputs.insert(c.outputs.end(), {p, m, v});
    }
    c.inputs.insert(c.inputs.end(), {scalar(f32, 1e-3), scalar(DType::i64, 1), scalar(f32, 1), scalar(DType::u8, 1)});
    return c;
  });
  hold("power_sum", 256, [](std::int64_t n) {
    return Case{{"power_sum", {}, 1, {number("p", 2)}},
                {drawn(f32, {n, 768}), drawn(f32, {768}), drawn(f32, {n, 256})},
                {Tensor(f32, {})}};
  });
}

} // namespace
} // namespace sluice::test
