// What answers are predicted to take is what they take.
#include "generation/AnswerMemory.hpp"

#include <gtest/gtest.h>

#include "device/AllocationRecorder.hpp"
#include "nn/language/Generate.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

std::vector<std::vector<std::int64_t>> prompts_of(const std::vector<std::int64_t>& lengths) {
  std::vector<std::vector<std::int64_t>> prompts;
  prompts.reserve(lengths.size());
  for (const std::int64_t length : lengths)
    prompts.emplace_back(static_cast<std::size_t>(length), 7);
  return prompts;
}

/// Of answers that all get as long as they may.
std::int64_t measured_peak(Llama& network, const std::vector<std::int64_t>& lengths, std::int64_t max_new) {
  GenerateOptions options;
  options.sampling.temperature = 0;
  options.max_new = max_new;
  options.end_tokens = EndTokens::ignore;
  options.batch = std::ssize(lengths);
  const AllocationRecorder recorder(at::kCPU);
  generate(network, prompts_of(lengths), options);
  return recorder.trace().peak();
}

class AnswerMemoryTest : public testing::Test {
 protected:
  AnswerMemoryTest() : config_(LlamaConfig::read(test::source_path("tests/data/models/tinystories-656K").string())) {}

  void expect_near(at::ScalarType type, const std::vector<std::int64_t>& lengths, std::int64_t max_new) {
    Llama network(config_, type, at::kCPU);
    network.initialise(1);
    network.set_training(Mode::evaluate);
    network.prepare_positions(config_.max_positions);
    const AnswerMemory memory(network);
    const std::int64_t predicted = memory.peak(lengths, max_new), peak = measured_peak(network, lengths, max_new);
    SCOPED_TRACE(testing::Message() << lengths.size() << " answers in " << type);
    EXPECT_GE(predicted, peak);
    // The moments when a layer moves to more room and when a pass holds most need not be the same.
    constexpr double kOneLayer = 32e3;
    EXPECT_LE(static_cast<double>(predicted), 1.08 * static_cast<double>(peak) + kOneLayer);
  }

  LlamaConfig config_;
};

TEST_F(AnswerMemoryTest, OfShortAnswersToLongPrompts) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    expect_near(type, {300}, 8);
    expect_near(type, {200, 180, 150, 140, 130, 120, 110, 100}, 8);
  }
}

TEST_F(AnswerMemoryTest, OfLongAnswersToShortPrompts) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    expect_near(type, {20}, 400);
    expect_near(type, {12, 13, 14, 15, 16, 17, 18, 19}, 400);
  }
}

TEST_F(AnswerMemoryTest, NothingIsTakenByNoAnswers) {
  Llama network(config_, at::kFloat, at::kCPU);
  network.initialise(1);
  network.set_training(Mode::evaluate);

  EXPECT_EQ(AnswerMemory(network).peak({}, 8), 0);
}

}  // namespace
}  // namespace multicard
