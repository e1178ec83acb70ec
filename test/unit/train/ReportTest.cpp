//===- ReportTest.cpp - lines of the console and the log--------------------------------===//
#include "runtime/train/Report.h"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace sluice;

namespace {

StepReport report() {
  StepReport report;
  report.step = 10;
  report.steps = 200;
  report.loss = 4.098123f;
  report.gradientNorm = 1.2341f;
  report.learningRate = 0.001;
  report.tokens = 1000;
  report.milliseconds = 81;
  return report;
}

TEST(Report, ConsoleLine) {
  EXPECT_EQ(consoleLine(report()), "step 10/200  loss 4.09812  grad_norm 1.234  lr 0.001  tok/s 12346");
}

TEST(Report, Epoch) {
  StepReport given = report();
  EXPECT_EQ(jsonLine(given).find("epoch"), std::string::npos);
  given.epoch = 1.239;
  EXPECT_EQ(consoleLine(given), "step 10/200  loss 4.09812  grad_norm 1.234  lr 0.001  tok/s 12346  epoch 1.24");
  nlohmann::json line = nlohmann::json::parse(jsonLine(given));
  EXPECT_EQ(line["epoch"], 1.239);
  EXPECT_FALSE(line.contains("source_epochs"));
  given.sourceEpochs = {0.5, 3};
  EXPECT_EQ(nlohmann::json::parse(jsonLine(given))["source_epochs"], nlohmann::json({0.5, 3}));
}

TEST(Report, DataLine) {
  DataReport given;
  given.sources = {{"text", 549}};
  EXPECT_EQ(dataLine(given), "data: 549 rows (text)");
  given.rowTokens = 64;
  given.tokens = 1024;
  given.distinct = 58;
  given.largest = 121;
  EXPECT_EQ(dataLine(given),
            "data: 549 rows (text) of 64 tokens, first batch: 58 distinct ids in 1024 tokens (5.7%), largest id 121");
  given.sources.push_back({"llmc, npy", 20});
  EXPECT_TRUE(dataLine(given).starts_with("data: 549 rows (text) + 20 rows (llmc, npy) of 64 tokens,"));
  given.epochs = 1.5;
  given.steps = 54;
  given.stepRows = 16;
  EXPECT_TRUE(dataLine(given).ends_with("\nepochs: 1.5 with 54 steps of 16 rows"));
}

TEST(Report, PackedRows) {
  DataReport data;
  data.sources = {{"messages", 10}};
  data.rowTokens = 64;
  data.tokens = 128;
  data.packed = {31, 600};
  data.packedPositions = 640;
  EXPECT_TRUE(dataLine(data).ends_with("\npacked: 31 documents in 10 rows, 93.8% of their tokens are filled"));
  StepReport given = report();
  EXPECT_FALSE(nlohmann::json::parse(jsonLine(given)).contains("fill"));
  given.packed = {12, 750};
  const nlohmann::json line = nlohmann::json::parse(jsonLine(given));
  EXPECT_EQ(line["documents"], 12);
  EXPECT_EQ(line["fill"], 0.75);
}

TEST(Report, Shapes) {
  DataReport data;
  data.sources = {{"text", 10}};
  data.shapes = {{"train_step", 64, 512, 0}, {"train_step_2x128", 128, 256, 2000}};
  data.epochs = 2;
  data.steps = 7;
  EXPECT_EQ(dataLine(data), "data: 10 rows (text)\nfrom step 1: rows of 64 tokens in train_step, 512 tokens in a step\n"
                            "from step 2001: rows of 128 tokens in train_step_2x128, 256 tokens in a step\n"
                            "epochs: 2 with 7 steps");
  data.isByLength = true;
  EXPECT_NE(dataLine(data).find("\nbucket: 2000 rows of 128 tokens in train_step_2x128, 256 tokens in a step"),
            std::string::npos);
  StepReport given = report();
  EXPECT_FALSE(nlohmann::json::parse(jsonLine(given)).contains("entry"));
  given.entry = "train_step_2x128";
  EXPECT_EQ(nlohmann::json::parse(jsonLine(given))["entry"], "train_step_2x128");
}

TEST(Report, OptionalFields) {
  StepReport given = report();
  EXPECT_EQ(jsonLine(given).find("eval_loss"), std::string::npos);
  given.evaluationLoss = 3.5;
  given.lossScale = 65536;
  given.losses = {{"a", 1.5}, {"b", NAN}};
  nlohmann::json line = nlohmann::json::parse(jsonLine(given));
  EXPECT_EQ(line["eval_loss"], 3.5);
  EXPECT_EQ(line["loss_scale"], 65536);
  EXPECT_EQ(line["losses"]["a"], 1.5);
  EXPECT_TRUE(line["losses"]["b"].is_null());
  EXPECT_TRUE(consoleLine(given).ends_with("  eval_loss 3.50000"));
}

// The sign bit of a NaN has no meaning: a NaN that x86 computes from infinities has it set.
TEST(Report, NonFiniteNumbers) {
  StepReport given = report();
  given.loss = -NAN;
  given.gradientNorm = INFINITY;
  given.evaluationLoss = -NAN;
  EXPECT_EQ(consoleLine(given), "step 10/200  loss nan  grad_norm inf  lr 0.001  tok/s 12346  eval_loss nan");
  EXPECT_NE(progressBar(given, 1, 200).find("loss nan, grad_norm inf,"), std::string::npos);
  given.loss = -INFINITY;
  given.gradientNorm = -NAN;
  EXPECT_NE(consoleLine(given).find("loss -inf  grad_norm nan"), std::string::npos);
}

TEST(Report, FloatsAreRecovered) {
  for (float value : {0.1f, 4.09812307f, 1e-30f, 123456789.0f}) {
    StepReport given = report();
    given.loss = value;
    EXPECT_EQ(static_cast<float>(nlohmann::json::parse(jsonLine(given))["loss"].get<double>()), value);
  }
  StepReport given = report();
  given.dtype = DType::f64;
  given.loss = 0.1234567890123456789;
  EXPECT_EQ(nlohmann::json::parse(jsonLine(given))["loss"].get<double>(), given.loss);
}

TEST(Report, NotFiniteIsNull) {
  StepReport given = report();
  given.loss = NAN;
  given.gradientNorm = INFINITY;
  nlohmann::json line = nlohmann::json::parse(jsonLine(given));
  EXPECT_TRUE(line["loss"].is_null());
  EXPECT_TRUE(line["grad_norm"].is_null());
}

TEST(Report, BarFitsItsColumns) {
  std::string bar = progressBar(report(), 5, 120);
  EXPECT_EQ(bar.substr(0, 5), "  5%|");
  EXPECT_NE(bar.find("| 10/200 [00:05<01:35, loss 4.0981"), std::string::npos) << bar;
  for (int columns : {1, 20, 60, 80, 120, 200}) {
    int width = 0;
    for (unsigned char c : progressBar(report(), 5, columns))
      width += (c & 0xc0) != 0x80;
    EXPECT_LT(width, columns);
  }
}

TEST(Report, SummaryLineComparesPeaks) {
  RunSummary summary;
  summary.predictedPeak = {{"device", 2048}};
  summary.measuredPeak = {{"device", 2048}};
  summary.predictedProcess = 8192;
  summary.measuredProcess = 4096;
  const std::string process = "\nprocess:  4096 (4.00 KiB) resident, 8192 (8.00 KiB) predicted";
  EXPECT_EQ(summaryLine(summary), "predicted peak = measured peak:  device 2048 (2.00 KiB) requested" + process);
  summary.measuredPeak = {{"device", 2049}};
  EXPECT_EQ(summaryLine(summary),
            "predicted peak and measured peak differ:  device predicted 2048 (2.00 KiB) requested 2049 (2.00 KiB)" +
                process);
  EXPECT_NE(jsonLine(summary).find("\"predicted_process\": 8192"), std::string::npos);
  summary.predictedProcess.reset();
  EXPECT_TRUE(summaryLine(summary).ends_with("\nprocess:  4096 (4.00 KiB) resident"));
  EXPECT_NE(jsonLine(summary).find("\"predicted_process\": null"), std::string::npos);
}

TEST(Report, UtilizationAndTime) {
  EXPECT_EQ(utilizationText(4e14, 2, 1e15), "mfu 20.0%");
  StepReport report;
  report.step = 10;
  report.steps = 40;
  EXPECT_EQ(timeText(report, 25), "time 00:25  eta 01:15");
}

} // namespace
