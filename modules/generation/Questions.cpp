#include "generation/Questions.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "io/JsonReader.hpp"
#include "prepare/records/RecordFiles.hpp"

namespace multicard {

namespace {

constexpr std::string_view kMark = "####";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t after_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at]))
    ++at;
  return at;
}

/// The number that begins at `at`, up to its end; empty where none does. A point counts only before a digit.
std::string_view number_at(std::string_view text, std::size_t at) {
  if (text[at] == '.' && at > 0 && is_digit(text[at - 1])) return {};
  std::size_t end = after_digits(text, at);
  if (end < text.size() && text[end] == '.') {
    const std::size_t fraction = after_digits(text, end + 1);
    if (fraction > end + 1) end = fraction;
  }
  return text.substr(at, end - at);
}

/// Without zeros that say nothing.
std::string shortest(std::string number, bool is_negative) {
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  number.erase(0, std::min(number.find_first_not_of('0'), number.size()));
  if (number.empty() || number.front() == '.') number.insert(0, "0");
  return is_negative && number != "0" ? "-" + number : number;
}

/// A minus is a sign where nothing stands before it that it could be subtracted from.
bool is_sign(std::string_view text, std::size_t at) {
  if (text[at] != '-') return false;
  const char before = at == 0 ? ' ' : text[at - 1];
  return !std::isalnum(static_cast<unsigned char>(before)) && before != ')' && before != '.';
}

// GSM8K's answers write 1,234 and $18: without these two characters the number stays in one piece. A list "1,2,3"
// becomes one number too, which is the price; the last number of an answer is rarely part of one.
std::vector<std::string> numbers_in(std::string_view text) {
  std::string plain(text);
  std::erase_if(plain, [](char c) { return c == ',' || c == '$'; });
  std::vector<std::string> found;
  for (std::size_t at = 0; at < plain.size();) {
    const std::string_view number = number_at(plain, at);
    if (!number.empty()) found.push_back(shortest(std::string(number), at > 0 && is_sign(plain, at - 1)));
    at += std::max<std::size_t>(1, number.size());
  }
  return found;
}

std::optional<std::string> marked_number(std::string_view text) {
  const std::size_t mark = text.rfind(kMark);
  if (mark == std::string_view::npos) return std::nullopt;
  const std::vector<std::string> found = numbers_in(text.substr(mark + kMark.size()));
  return found.empty() ? std::nullopt : std::optional(found.front());
}

}  // namespace

// Numbers are compared as texts in their shortest notation: 18.00 and 018 equal 18, and the rounding of doubles, which
// large numbers would need, decides nothing.
std::optional<std::string> final_number(std::string_view text) {
  if (auto marked = marked_number(text)) return marked;
  const std::vector<std::string> all = numbers_in(text);
  return all.empty() ? std::nullopt : std::optional(all.back());
}

std::string QuestionScore::text() const {
  return fmt::format("{} ({} of {} questions)", significant(exact_match()), grouped(num_right), grouped(num_questions));
}

Questions::Questions(const QuestionOptions& options, const Prompter& prompter, const LlamaConfig& config,
                     const Communicator& communicator)
    : max_new_(options.max_new) {
  RecordFiles files({options.file}, RecordKind::json, communicator);
  num_questions_ = std::min(files.size(), options.limit.value_or(files.size()));
  agreed(communicator, [&] {
    for (std::int64_t i = 0; i < num_questions_; ++i) {
      if (answering_rank(i, communicator.size()) != communicator.rank()) continue;
      const std::string name = files.name_of(i);
      const nlohmann::json record = parse_json(files.read(i), name);
      prompts_.push_back(prompter.encode(text_member(record, "question", name)));
      const std::optional<std::string> number = marked_number(text_member(record, "answer", name));
      if (!number)
        throw DataError(fmt::format("the answer of {} does not end with #### and a number", name),
                        "answers are compared by it");
      numbers_.push_back(*number);
      check_prompt(prompts_.back(), config, max_new_, name, "evaluate.questions.max_new");
    }
  });
}

QuestionScore Questions::score(const Answers& answers, const Communicator& communicator) const {
  std::int64_t num_right = 0;
  agreed_after_long_work(communicator, [&] {
    const std::vector<std::string> found = answers(prompts_, max_new_);
    for (std::size_t i = 0; i < found.size(); ++i)
      if (final_number(found[i]) == numbers_[i]) ++num_right;
  });
  return {communicator.allreduce(num_right, ReduceOp::sum), num_questions_};
}

}  // namespace multicard
