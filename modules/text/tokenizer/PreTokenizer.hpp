#pragma once
/// \file Splitting a text into the words that are encoded one by one.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "text/tokenizer/Bpe.hpp"

namespace multicard {

/// A part of the text under work.
struct TextPart {
  std::string_view text;
  bool is_first;  ///< begins where the whole text begins
};

/// Takes parts one after the other; their text is valid during the call.
class PartSink {
 public:
  virtual ~PartSink() = default;
  virtual void take(const TextPart& part) = 0;
};

/// One way to split.
class SplitStep {
 public:
  virtual ~SplitStep() = default;
  /// Hands on the parts of `part`, without empty ones.
  virtual void split(const TextPart& part, PartSink& sink) const = 0;
};

/// The pre-tokenizer of a tokenizer.json.
class PreTokenizer {
 public:
  /// From its JSON; null leaves texts whole. An unknown step is a DataError naming it.
  explicit PreTokenizer(const nlohmann::json& description);
  /// Splits by one pattern into bytes, as tiktoken does.
  static PreTokenizer of_pattern(const std::string& pattern);

  /// What the words are made of.
  WordUnit unit() const { return unit_; }
  void split(const TextPart& part, PartSink& words) const;

 private:
  PreTokenizer() = default;
  void add(const nlohmann::json& description);

  std::vector<std::shared_ptr<const SplitStep>> steps_;
  WordUnit unit_ = WordUnit::characters;
};

}  // namespace multicard
