#include "text/prompts/ChatRendering.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "io/JsonReader.hpp"
#include "text/jinja/PythonText.hpp"

namespace multicard {

namespace {

using nlohmann::ordered_json;

constexpr const char* kAssistant = "assistant";
constexpr std::string_view kMessages = "messages", kFlag = "add_generation_prompt";

/// A message as templates see it.
JinjaValue value_of(const Message& message, const JinjaTemplate& reader) {
  const bool is_own_role = message.given_role.empty() || !reader.mentions(message.given_role);
  std::vector<std::pair<JinjaValue, JinjaValue>> members{{"role", is_own_role ? message.role : message.given_role}};
  if (message.has_content) members.emplace_back("content", message.content);
  if (!message.fields.empty()) {
    const ordered_json fields = parse_ordered_json(message.fields, "a message");
    std::optional<JinjaValue> reasoning;
    for (const char* name : kReasoningNames)
      if (const ordered_json* value = reasoning ? nullptr : optional_member(fields, name))
        reasoning = jinja_value(*value);
    if (reasoning) members.emplace_back("thinking", *reasoning);
    for (const auto& [name, value] : fields.items())
      if (!value.is_null()) members.emplace_back(name, jinja_value(value));
    if (reasoning) members.emplace_back("reasoning_content", *reasoning);
  }
  return make_jinja_dict(std::move(members));
}

/// The beginnings of a conversation that tell where its answers are: up to each of them, and with it.
std::vector<JinjaGrowth::End> ends_of_answers(std::span<const Message> messages, Turn end) {
  std::vector<JinjaGrowth::End> ends;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != kAssistant || !messages[i].is_trained) continue;
    if (i > 0) ends.push_back({i, true});
    if (i + 1 < messages.size() || end == Turn::open) ends.push_back({i + 1, false});
  }
  return ends;
}

JinjaValue parsed(std::string_view text, const char* what) {
  return text.empty() ? JinjaValue(JinjaNone()) : jinja_value(parse_ordered_json(text, what));
}

/// Looking for the answers of one conversation takes too many renderings.
struct Exhausted : JinjaError {
  Exhausted()
      : JinjaError(
            "its answers are found by rendering the conversation many times, and it has too many messages for "
            "that") {}
};

}  // namespace

ChatRendering::ChatRendering(const JinjaTemplate& source, const JinjaTemplate::Variables& specials,
                             const AnswerEnds& ends, const Prompt& prompt, Turn end)
    : source_(source), ends_(ends), prompt_(prompt), end_(end), variables_(specials), growth_{kMessages, kFlag} {
  for (const Message& message : prompt.messages)
    messages_.push_back(value_of(message, source));
  variables_.emplace_back("tools", parsed(prompt.tools, "\"tools\""));
  variables_.emplace_back("documents", parsed(prompt.documents, "\"documents\""));
  if (!source.has_generation()) growth_.wanted = ends_of_answers(prompt.messages, end);
  whole_ = render(messages_, end, growth_);
  if (!ends.adds_eos) std::erase_if(whole_.generated, [](const TextRange& block) { return block.begin == block.end; });
}

JinjaOutput ChatRendering::render(std::vector<JinjaValue> some, Turn as, const JinjaGrowth& shorter) const {
  constexpr std::size_t kMostWork = std::size_t{1} << 30;  // ten seconds or so
  if (work_.done > kMostWork) throw Exhausted();
  JinjaTemplate::Variables all = variables_;
  all.emplace_back(kMessages, make_jinja_list(std::move(some)));
  all.emplace_back(kFlag, as == Turn::open);
  return source_.render(all, shorter, work_);
}

/// The text of the first messages, nothing where there are none or the template objects to them.
std::optional<JinjaBeginning> ChatRendering::first(std::size_t count, Turn as) const {
  if (count == 0) return std::nullopt;
  const std::pair key(count, as == Turn::open);
  const auto place = std::lower_bound(
      growth_.wanted.begin(), growth_.wanted.end(), key,
      [](const JinjaGrowth::End& one, const auto& wanted) { return std::pair(one.length, one.flag) < wanted; });
  if (place != growth_.wanted.end() && std::pair(place->length, place->flag) == key)
    if (const auto& known = whole_.beginnings[static_cast<std::size_t>(place - growth_.wanted.begin())])
      return known->rest ? known : std::nullopt;
  try {
    const auto stop = messages_.begin() + static_cast<std::ptrdiff_t>(count);
    return JinjaBeginning{0, render({messages_.begin(), stop}, as).text};
  } catch (const Exhausted&) {
    throw;
  } catch (const JinjaError&) {
    return std::nullopt;
  }
}

/// Where that text ends in the whole one, if that begins with it.
std::optional<std::size_t> ChatRendering::end_of(const JinjaBeginning& text) const {
  const std::string_view behind = std::string_view(whole_.text).substr(text.shared);
  return behind.starts_with(*text.rest) ? std::optional(text.shared + text.rest->size()) : std::nullopt;
}

std::vector<TextRange> ChatRendering::answers() const {
  std::vector<std::size_t> all;
  const std::span<const Message> messages = prompt_.messages;
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (messages[i].role == kAssistant) all.push_back(i);
  const bool are_all_trained =
      std::all_of(all.begin(), all.end(), [&](std::size_t i) { return messages[i].is_trained; });
  const std::vector<TextRange>& generated = whole_.generated;
  const bool has_blocks = source_.has_generation() && !whole_.has_hidden_generation;
  if (has_blocks && are_all_trained) return generated;
  std::vector<TextRange> ranges;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!messages[all[i]].is_trained) continue;
    const TextRange range = has_blocks && generated.size() == all.size() ? generated[i] : answer(all[i]);
    if (!ranges.empty() && range.begin < ranges.back().end) throw JinjaError("its answers overlap in its text");
    ranges.push_back(range);
  }
  return ranges;
}

TextRange ChatRendering::answer(std::size_t message) const {
  const std::string_view whole = whole_.text;
  const bool is_last = message + 1 == messages_.size() && end_ == Turn::closed;
  std::optional<std::size_t> begin, end;
  if (const std::optional<JinjaBeginning> before = first(message, Turn::open)) begin = end_of(*before);
  if (begin && is_last) {
    end = whole.size();
  } else if (begin) {
    std::optional<JinjaBeginning> with = first(message + 1, Turn::closed);
    if (with) end = end_of(*with);
    if (with && !end && !ends_.eos.empty() && with->rest->ends_with(ends_.eos)) {
      with->rest->resize(with->rest->size() - ends_.eos.size());
      end = end_of(*with);
      if (end) end = behind_marker(*end).value_or(*end);  // an inner answer may end with another marker
    }
    if (end && *end < *begin) end.reset();
  }
  if (!end) {
    const std::optional<TextRange> content = content_of(message);
    if (content) begin = std::min(begin.value_or(content->begin), content->begin);
    if (begin) end = end_of(message, *begin, content);
  }
  if (!end)
    throw JinjaError(
        fmt::format("message {} cannot be found in its text, because the template writes the conversation "
                    "differently when it continues",
                    message + 1));
  return {*begin, *begin + python_strip(whole.substr(*begin, *end - *begin), PythonEnds::right).size()};
}

std::optional<TextRange> ChatRendering::content_of(std::size_t message) const {
  const std::string_view whole = whole_.text;
  std::string other = "Qx7RenderedHere";
  while (whole.find(other) != std::string_view::npos)
    other += 'z';
  std::vector<JinjaValue> messages = messages_;
  Message changed = prompt_.messages[message];
  changed.content = other;
  changed.has_content = true;
  messages[message] = value_of(changed, source_);
  std::string text;
  try {
    text = render(std::move(messages), end_).text;
  } catch (const Exhausted&) {
    throw;
  } catch (const JinjaError&) {
    return std::nullopt;
  }
  const std::size_t begin = text.find(other);
  if (begin == std::string::npos) return std::nullopt;
  const std::string_view before = std::string_view(text).substr(0, begin),
                         after = std::string_view(text).substr(begin + other.size());
  const bool is_found = begin + after.size() <= whole.size() && whole.starts_with(before) && whole.ends_with(after);
  return is_found ? std::optional(TextRange{begin, whole.size() - after.size()}) : std::nullopt;
}

/// Behind the marker that ends an inner turn, if it stands there, perhaps after white space.
std::optional<std::size_t> ChatRendering::behind_marker(std::size_t position) const {
  const std::string_view rest = std::string_view(whole_.text).substr(position),
                         marked = python_strip(rest, PythonEnds::left);
  if (ends_.of_turn.empty() || !marked.starts_with(ends_.of_turn)) return std::nullopt;
  return position + (rest.size() - marked.size()) + ends_.of_turn.size();
}

std::optional<std::size_t> ChatRendering::end_of(std::size_t message, std::size_t begin,
                                                 const std::optional<TextRange>& content) const {
  const std::string_view whole = whole_.text;
  if (content)
    if (const std::optional<std::size_t> end = behind_marker(content->end)) return end;
  const bool has_next = message + 1 < messages_.size();
  const std::optional<TextRange> next = has_next ? content_of(message + 1) : std::nullopt;
  if (!ends_.of_turn.empty() && (next || !has_next)) {
    const std::string_view before = whole.substr(0, next ? next->begin : whole.size());
    const std::size_t last = before.rfind(ends_.of_turn);
    if (last != std::string_view::npos && last >= begin) return last + ends_.of_turn.size();
  }
  const bool has_more = !prompt_.messages[message].fields.empty();
  return content && !has_more ? std::optional(content->end) : std::nullopt;
}

}  // namespace multicard
