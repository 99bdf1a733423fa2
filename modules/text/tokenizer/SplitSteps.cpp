#include "text/tokenizer/SplitSteps.hpp"

#include <functional>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/Utf8.hpp"
#include "io/JsonReader.hpp"
#include "text/tokenizer/Pattern.hpp"
#include "text/unicode/Unicode.hpp"

namespace multicard {

namespace {

using Steps = std::vector<std::shared_ptr<const SplitStep>>;

// The pattern that "use_regex" stands for. \s+(?!\S) leaves the last of several spaces to the word after it, so that
// words nearly always begin with theirs.
const char* const kGpt2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/// Turns the stream of matches and of what lies between them into parts.
class Splitter {
 public:
  Splitter(const TextPart& part, SplitBehavior behavior, PartSink& sink)
      : part_(part), behavior_(behavior), sink_(sink) {}
  ~Splitter() = default;
  Splitter(const Splitter&) = delete;
  Splitter& operator=(const Splitter&) = delete;

  void add(std::size_t begin, std::size_t end, bool is_match) {
    if (behavior_ == SplitBehavior::isolated) return emit(begin, end);
    if (behavior_ == SplitBehavior::removed) {
      if (!is_match) emit(begin, end);
      return;
    }
    if (has_pending_ && joins(is_match)) {
      end_ = end;
    } else {
      finish();
      begin_ = begin;
      end_ = end;
      has_pending_ = true;
    }
    was_match_ = is_match;
  }
  void finish() {
    if (has_pending_) emit(begin_, end_);
    has_pending_ = false;
  }

 private:
  /// Whether what comes now belongs to what is pending.
  bool joins(bool is_match) const {
    // Of several matches in a row MergedWithPrevious joins only the first to the text in front, and MergedWithNext only
    // the last to the text after; the others stay alone.
    if (behavior_ == SplitBehavior::contiguous) return is_match == was_match_;
    if (behavior_ == SplitBehavior::merged_with_previous) return is_match && !was_match_;
    return !is_match && was_match_;
  }
  void emit(std::size_t begin, std::size_t end) {
    if (begin < end) sink_.take({part_.text.substr(begin, end - begin), part_.is_first && begin == 0});
  }

  const TextPart& part_;
  SplitBehavior behavior_;
  PartSink& sink_;
  std::size_t begin_ = 0, end_ = 0;
  bool has_pending_ = false, was_match_ = false;
};

class PatternSplit : public SplitStep {
 public:
  PatternSplit(Regex pattern, SplitBehavior behavior, bool inverted)
      : pattern_(std::move(pattern)), behavior_(behavior), inverted_(inverted) {}

  void split(const TextPart& part, PartSink& sink) const override {
    Splitter splitter(part, behavior_, sink);
    std::size_t done = 0;
    pattern_.for_each(part.text, [&](const Regex::Match& match) {
      if (done < match.begin) splitter.add(done, match.begin, inverted_);
      splitter.add(match.begin, match.end, !inverted_);
      done = match.end;
    });
    if (done < part.text.size()) splitter.add(done, part.text.size(), inverted_);
    splitter.finish();
  }

 private:
  Regex pattern_;
  SplitBehavior behavior_;
  bool inverted_;
};

class CharacterSplit : public SplitStep {
 public:
  using Predicate = std::function<bool(char32_t)>;
  CharacterSplit(Predicate predicate, SplitBehavior behavior) : predicate_(std::move(predicate)), behavior_(behavior) {}

  void split(const TextPart& part, PartSink& sink) const override {
    Splitter splitter(part, behavior_, sink);
    std::size_t done = 0;
    for (std::size_t at = 0; at < part.text.size();) {
      const std::size_t begin = at;
      if (!predicate_(next_character(part.text, at))) continue;
      if (done < begin) splitter.add(done, begin, false);
      splitter.add(begin, at, true);
      done = at;
    }
    if (done < part.text.size()) splitter.add(done, part.text.size(), false);
    splitter.finish();
  }

 private:
  Predicate predicate_;
  SplitBehavior behavior_;
};

// "add_prefix_space": at each text between added tokens, not only where the whole text begins. A word thus has the same
// token at the beginning of a turn as within one.
class SpaceInFront : public SplitStep {
 public:
  void split(const TextPart& part, PartSink& sink) const override {
    if (part.text.starts_with(' ')) return sink.take(part);
    const std::string longer = ' ' + std::string(part.text);
    sink.take({longer, part.is_first});
  }
};

enum class Prepending { always, first, never };

/// Spaces become the replacement, and one comes in front.
class MetaspaceReplacement : public SplitStep {
 public:
  MetaspaceReplacement(std::string replacement, Prepending prepending)
      : replacement_(std::move(replacement)), prepending_(prepending) {}

  void split(const TextPart& part, PartSink& sink) const override {
    std::string text = replaced(part.text, " ", replacement_);
    const bool wanted = prepending_ == Prepending::always || (prepending_ == Prepending::first && part.is_first);
    if (wanted && !text.starts_with(replacement_)) text.insert(0, replacement_);
    sink.take({text, part.is_first});
  }

 private:
  std::string replacement_;
  Prepending prepending_;
};

SplitBehavior behavior_of(const nlohmann::json& description, const std::string& what) {
  static const std::map<std::string, SplitBehavior> behaviors{
      {"Removed", SplitBehavior::removed},
      {"Isolated", SplitBehavior::isolated},
      {"MergedWithPrevious", SplitBehavior::merged_with_previous},
      {"MergedWithNext", SplitBehavior::merged_with_next},
      {"Contiguous", SplitBehavior::contiguous}};
  const std::string name = text_member(description, "behavior", what);
  const auto found = behaviors.find(name);
  if (found == behaviors.end()) throw DataError(fmt::format("the behavior {} of {} is not supported", name, what));
  return found->second;
}

// Where "prepend_scheme" is absent the older flag means always or never. "first" alone distinguishes the beginning of
// the text from what follows an added token (sentencepiece models with "legacy": false).
Prepending prepending_of(const nlohmann::json& description, const std::string& what) {
  if (!optional_member(description, "prepend_scheme"))
    return flag_member(description, "add_prefix_space", true, what) ? Prepending::always : Prepending::never;
  const std::string scheme = text_member(description, "prepend_scheme", what);
  if (scheme == "always") return Prepending::always;
  if (scheme == "first") return Prepending::first;
  if (scheme == "never") return Prepending::never;
  throw DataError(fmt::format("the prepend_scheme {} of {} is not supported", scheme, what));
}

Steps metaspace(const nlohmann::json& description, const std::string& what) {
  const std::string replacement = text_member(description, "replacement", what);
  if (replacement.empty() || utf8_length(replacement[0]) != replacement.size())
    throw DataError(fmt::format("the replacement of {} is not one character", what));
  Steps steps{std::make_shared<MetaspaceReplacement>(replacement, prepending_of(description, what))};
  if (flag_member(description, "split", true, what))
    steps.push_back(split_by_pattern(Regex::literal(replacement), SplitBehavior::merged_with_next));
  return steps;
}

Steps byte_level(const nlohmann::json& description, const std::string& what) {
  Steps steps;
  if (flag_member(description, "add_prefix_space", true, what)) steps.push_back(std::make_shared<SpaceInFront>());
  if (flag_member(description, "use_regex", true, what))
    steps.push_back(split_by_pattern(Regex(kGpt2), SplitBehavior::isolated));
  return steps;
}

std::shared_ptr<const SplitStep> by_character(CharacterSplit::Predicate predicate, SplitBehavior behavior) {
  return std::make_shared<CharacterSplit>(std::move(predicate), behavior);
}

}  // namespace

std::shared_ptr<const SplitStep> split_by_pattern(Regex pattern, SplitBehavior behavior) {
  return std::make_shared<PatternSplit>(std::move(pattern), behavior, false);
}

Steps make_split_steps(const nlohmann::json& description, const std::string& type) {
  const std::string what = "the pre-tokenizer " + type;
  if (type == "ByteLevel") return byte_level(description, what);
  if (type == "Metaspace") return metaspace(description, what);
  if (type == "Split")
    return {std::make_shared<PatternSplit>(pattern_of(description, what), behavior_of(description, what),
                                           flag_member(description, "invert", false, what))};
  if (type == "Digits")
    return {by_character(is_numeric, flag_member(description, "individual_digits", false, what)
                                         ? SplitBehavior::isolated
                                         : SplitBehavior::contiguous)};
  if (type == "Punctuation")
    return {by_character(is_punctuation, optional_member(description, "behavior") ? behavior_of(description, what)
                                                                                  : SplitBehavior::isolated)};
  if (type == "WhitespaceSplit") return {by_character(is_white_space, SplitBehavior::removed)};
  if (type == "BertPreTokenizer")
    return {by_character(is_white_space, SplitBehavior::removed),
            by_character(is_punctuation, SplitBehavior::isolated)};
  // \w+|[^\w\s]+ by Rust's regex crate, not by Oniguruma, hence its word characters. Inverted: what lies between the
  // matches is taken for the separator and removed.
  if (type == "Whitespace")
    return {std::make_shared<PatternSplit>(Regex(fmt::format("[{0}]+|[^\\s{0}]+", kRustWordCharacters)),
                                           SplitBehavior::removed, true)};
  throw DataError(fmt::format("the pre-tokenizer {} is not supported", type));
}

}  // namespace multicard
