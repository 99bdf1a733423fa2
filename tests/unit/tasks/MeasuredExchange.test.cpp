#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {
namespace {

RunOptions options_of(const std::string& text) {
  return read_run_options(Deck::parse(text, "x.yaml"));
}

void expect_refused(const std::string& text, const std::string& why) {
  const std::string found = test::message_of<UsageError>([&] { options_of(text); });
  EXPECT_NE(found.find(why), std::string::npos) << text << ": " << found;
}

TEST(MeasuredExchange, StartsFromTheDefaults) {
  const ParallelOptions both = options_of("parallel: {bucket_mb: measured, gradient_dtype: measured}").parallel;
  EXPECT_TRUE(both.measures_bucket && both.measures_dtype);
  EXPECT_EQ(static_cast<const ExchangeSetting&>(both), ExchangeSetting{});
  EXPECT_FALSE(options_of("parallel: {bucket_mb: 3, gradient_dtype: bf16}").parallel.measures());
}

TEST(MeasuredExchange, IsRefusedWhereItMeansNothing) {
  expect_refused("parallel: {bucket_mb: measured}\nrun: {deterministic: true}", "run.deterministic is true");
  expect_refused("parallel: {gradient_dtype: measured}\nrun: {deterministic: true}", "depends on the time");
  expect_refused("precision: fp64\nparallel: {gradient_dtype: measured}", "precision is fp64");
  expect_refused(
      "task: llm\nmodel: {path: m, trainable_dtype: bf16}\ndata: {train: a.h5}\nparallel: {gradient_dtype: measured}",
      "model.trainable_dtype is bf16");
  expect_refused("parallel: {bucket_mb: measure}", "expected a number");
}

}  // namespace
}  // namespace multicard
