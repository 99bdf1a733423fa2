#include "text/tokenizer/PreTokenizer.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "io/JsonReader.hpp"
#include "text/tokenizer/SplitSteps.hpp"
#include "text/unicode/TextRoom.hpp"

namespace multicard {

namespace {

/// Hands parts to the steps from `step` on.
class Chain : public PartSink {
 public:
  Chain(const std::vector<std::shared_ptr<const SplitStep>>& steps, std::size_t step, PartSink& words)
      : steps_(steps), step_(step), words_(words) {}

  // Depth first: each part passes through all further steps before the next one is split off. No list of parts is kept,
  // and a text that a step has made up lives on its stack for as long as anything refers to it.
  void take(const TextPart& part) override {
    if (part.text.empty()) return;
    if (step_ == steps_.size()) return words_.take(part);
    Chain rest(steps_, step_ + 1, words_);
    steps_[step_]->split(part, rest);
  }

 private:
  const std::vector<std::shared_ptr<const SplitStep>>& steps_;
  std::size_t step_;
  PartSink& words_;
};

}  // namespace

PreTokenizer::PreTokenizer(const nlohmann::json& description) {
  if (!description.is_null()) add(description);
}

PreTokenizer PreTokenizer::of_pattern(const std::string& pattern) {
  PreTokenizer result;
  result.steps_.push_back(split_by_pattern(Regex(pattern), SplitBehavior::isolated));
  result.unit_ = WordUnit::bytes;
  return result;
}

void PreTokenizer::split(const TextPart& part, PartSink& words) const {
  Chain(steps_, 0, words).take(part);
}

void PreTokenizer::add(const nlohmann::json& description) {
  const std::string type = type_of(description, "the pre-tokenizer");
  if (type == "Sequence") {
    for (const nlohmann::json& step : list_member(description, "pretokenizers", "the pre-tokenizer"))
      add(step);
    return;
  }
  // In the library ByteLevel turns the text into visible characters, which later steps would see. Here words stay raw
  // bytes until the vocabulary is asked, so that a pattern after it would match other characters.
  if (unit_ == WordUnit::bytes)
    throw DataError(fmt::format("the pre-tokenizer {} after ByteLevel is not supported", type));
  for (std::shared_ptr<const SplitStep>& step : make_split_steps(description, type))
    steps_.push_back(std::move(step));
  require_few_steps(steps_.size(), "the pre-tokenizer");
  if (type == "ByteLevel") unit_ = WordUnit::bytes;
}

}  // namespace multicard
