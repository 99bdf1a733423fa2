#include "text/tokenizer/Normalizer.hpp"

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

using Step = std::function<std::string(std::string, const TextRoom&)>;

std::string stripped(const std::string& text, bool left, bool right) {
  std::size_t begin = 0, end = 0;
  bool is_begun = !left;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t character_begin = at;
    if (is_white_space(next_character(text, at))) continue;
    if (!is_begun) begin = character_begin;
    is_begun = true;
    end = at;
  }
  if (!right) end = text.size();
  if (!is_begun) return "";
  return text.substr(begin, std::max(begin, end) - begin);
}

Step make_step(const nlohmann::json& description, const std::string& type) {
  static const std::map<std::string, NormalForm> forms{
      {"NFC", NormalForm::nfc}, {"NFD", NormalForm::nfd}, {"NFKC", NormalForm::nfkc}, {"NFKD", NormalForm::nfkd}};
  const std::string what = "the normalizer " + type;
  if (const auto form = forms.find(type); form != forms.end())
    return [form = form->second](const std::string& text, const TextRoom&) { return normalized(text, form); };
  if (type == "Lowercase") return [](const std::string& text, const TextRoom&) { return lower_case(text); };
  if (type == "StripAccents") return [](const std::string& text, const TextRoom&) { return without_marks(text); };
  if (type == "Replace") return Replacement(description, what);
  // An empty text gets no prefix in the library either: "" has no tokens.
  if (type == "Prepend")
    return [prefix = text_member(description, "prepend", what)](const std::string& text, const TextRoom&) {
      return text.empty() ? text : prefix + text;
    };
  if (type == "Strip")
    return [left = flag_member(description, "strip_left", true, what),
            right = flag_member(description, "strip_right", true, what)](const std::string& text, const TextRoom&) {
      return stripped(text, left, right);
    };
  throw DataError(fmt::format("the normalizer {} is not supported", type));
}

}  // namespace

Normalizer::Normalizer(const nlohmann::json& description) {
  if (!description.is_null()) add(description);
}

// The room is asked after each step, not after the last: 100 steps that double a text would not come to their end.
std::string Normalizer::operator()(std::string text, TextRoom& room) const {
  for (const Step& step : steps_) {
    text = step(std::move(text), room);
    if (text.size() > room.left()) room.refuse();
  }
  room.take(text.size());
  return text;
}

void Normalizer::add(const nlohmann::json& description) {
  const std::string type = type_of(description, "the normalizer");
  if (type != "Sequence") {
    require_few_steps(steps_.size() + 1, "the normalizer");
    return steps_.push_back(make_step(description, type));
  }
  for (const nlohmann::json& step : list_member(description, "normalizers", "the normalizer"))
    add(step);
}

}  // namespace multicard
