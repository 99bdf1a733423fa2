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

/// A message as templates see it.
JinjaValue value_of(const Message& message, const JinjaTemplate& reader) {
  // Data sets name an answer's reasoning in three ways, templates read one of two: it is offered under both. A member
  // that is null is left out, because templates ask "is defined" where they mean that it has a value. The role keeps
  // the data set's spelling ("function", "ipython") only where the template knows that word.
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

JinjaValue parsed(std::string_view text, const char* what) {
  return text.empty() ? JinjaValue(JinjaNone()) : jinja_value(parse_ordered_json(text, what));
}

/// The search for the answers of one conversation takes too many renderings.
struct Exhausted : JinjaError {
  Exhausted()
      : JinjaError(
            "its answers are found by rendering the conversation many times, and it has too many messages for "
            "that") {}
};

/// The answers of a kind that are searched for by renderings: the first two and the last two.
constexpr std::size_t kExamples = 4;
bool is_example(std::size_t i, std::size_t size) {
  return i < kExamples / 2 || i + kExamples / 2 >= size;
}

}  // namespace

ChatRendering::ChatRendering(const JinjaTemplate& source, const JinjaTemplate::Variables& specials,
                             const AnswerEnds& ends, const Prompt& prompt, Turn end)
    : source_(source), ends_(ends), prompt_(prompt), end_(end), variables_(specials) {
  for (const Message& message : prompt.messages)
    messages_.push_back(value_of(message, source));
  variables_.emplace_back("tools", parsed(prompt.tools, "\"tools\""));
  variables_.emplace_back("documents", parsed(prompt.documents, "\"documents\""));
  whole_ = render(messages_, end);
}

// The budget is that of all renderings of the conversation together: each of them may stay within its own limits while
// their number grows with that of the messages.
JinjaOutput ChatRendering::render(std::vector<JinjaValue> some, Turn as) const {
  constexpr std::size_t kMostWork = std::size_t{1} << 26;  // some seconds
  if (work_ > kMostWork) throw Exhausted();
  JinjaTemplate::Variables all = variables_;
  all.emplace_back("messages", make_jinja_list(std::move(some)));
  all.emplace_back("add_generation_prompt", as == Turn::open);
  return source_.render(all, work_);
}

/// The text of the first messages, nothing where there are none or the template objects to them.
std::optional<std::string> ChatRendering::first(std::size_t count, Turn as) const {
  if (count == 0) return std::nullopt;
  try {
    return render({messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(count)}, as).text;
  } catch (const Exhausted&) {
    throw;
  } catch (const JinjaError&) {
    return std::nullopt;
  }
}

// A shorter rendering gives a place in the whole one only where it is its beginning. Templates that look ahead, cut the
// reasoning of earlier answers or write an EOS at the very end break that.
std::optional<std::size_t> ChatRendering::length_if_beginning(std::string_view text) const {
  return whole_.text.starts_with(text) ? std::optional(text.size()) : std::nullopt;
}

// {% generation %} blocks are the author's own statement of what is to be learnt and are taken as they are. To leave
// out the answers that are not trained each block must belong to one of them; where the numbers differ (two answers in
// one block, a block in a branch not taken) answers are searched for as if there were no blocks.
std::vector<TextRange> ChatRendering::answers() const {
  std::vector<std::size_t> all;
  const std::span<const Message> messages = prompt_.messages;
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (messages[i].role == kAssistant) all.push_back(i);
  const bool are_all_trained =
      std::all_of(all.begin(), all.end(), [&](std::size_t i) { return messages[i].is_trained; });
  const std::vector<TextRange>& generated = whole_.generated;
  // Blocks within a macro have no place in the text (JinjaOutput).
  const bool has_blocks = source_.has_generation() && !whole_.has_hidden_generation;
  if (has_blocks && are_all_trained) return generated;
  const bool are_paired = has_blocks && generated.size() == all.size();
  std::vector<TextRange> ranges;
  std::vector<std::size_t> searched;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!messages[all[i]].is_trained) continue;
    if (are_paired) ranges.push_back(generated[i]);
    searched.push_back(all[i]);
  }
  if (!are_paired) ranges = search(searched);
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].begin < ranges[i - 1].end) throw JinjaError("its answers overlap in its text");
  return ranges;
}

/// Answers of one kind are usually written alike: templates look at what precedes an answer, at its members, and at
/// reasoning in its content.
std::string ChatRendering::kind_of(std::size_t message) const {
  const Message& answer = prompt_.messages[message];
  std::string kind = message == 0 ? "" : prompt_.messages[message - 1].role;
  for (const auto& [name, value] : messages_[message].dict()->items)
    kind.append("|").append(*name.string());
  return answer.content.find("</think>") == std::string::npos ? kind : kind + "|</think>";
}

std::vector<TextRange> ChatRendering::search(const std::vector<std::size_t>& answers) const {
  std::map<std::string, std::vector<std::size_t>> kinds;
  for (const std::size_t message : answers)
    kinds[kind_of(message)].push_back(message);
  std::vector<std::size_t> examples;
  for (const auto& [kind, members] : kinds)
    for (std::size_t i = 0; i < members.size(); ++i)
      if (is_example(i, members.size())) examples.push_back(members[i]);
  std::sort(examples.begin(), examples.end());  // of answers that cannot be found the first is named
  std::map<std::size_t, TextRange> found;
  for (const std::size_t message : examples)
    found[message] = answer(message);
  if (examples.size() < answers.size()) {
    const MessagePasses passes(messages_, whole_);
    for (const auto& [kind, members] : kinds)
      locate(members, passes, found);
  }
  std::vector<TextRange> ranges;
  ranges.reserve(found.size());
  for (const auto& [message, range] : found)
    ranges.push_back(range);
  return ranges;
}

/// Where the examples of a kind stand alike in the passes of the template's loop, the others are located by theirs:
/// with renderings for each of them the time would be quadratic in the number of messages. The first example may
/// differ, because no answer precedes it.
void ChatRendering::locate(const std::vector<std::size_t>& members, const MessagePasses& passes,
                           std::map<std::size_t, TextRange>& found) const {
  if (members.size() <= kExamples) return;
  const std::size_t second = members[1], last_but_one = members[members.size() - 2];
  const std::optional<std::string_view> header = passes.header_of(second, found[second]);
  const bool are_alike = header && passes.answer_in(second, *header) == found[second] &&
                         passes.answer_in(last_but_one, *header) == found[last_but_one];
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (is_example(i, members.size())) continue;
    const auto in_pass = are_alike ? passes.answer_in(members[i], *header) : std::nullopt;
    found[members[i]] = in_pass ? *in_pass : answer(members[i]);
  }
}

// An answer begins where the messages before it end, rendered with the header of an answer, and ends where the messages
// through it end. Where one of these is no beginning of the whole text, a last EOS is tried without, and then the
// answer's content is searched for by rendering another in its place.
TextRange ChatRendering::answer(std::size_t message) const {
  const std::string_view whole = whole_.text;
  const bool is_last = message + 1 == messages_.size() && end_ == Turn::closed;
  std::optional<std::size_t> begin, end;
  if (const std::optional<std::string> before = first(message, Turn::open)) begin = length_if_beginning(*before);
  if (begin && is_last) {
    end = whole.size();
  } else if (begin) {
    std::optional<std::string> through = first(message + 1, Turn::closed);
    if (through) end = length_if_beginning(*through);
    if (through && !end && !ends_.eos.empty() && through->ends_with(ends_.eos)) {
      through->resize(through->size() - ends_.eos.size());
      end = length_if_beginning(*through);
      if (end) end = after_marker(*end).value_or(*end);  // an inner answer may end with another marker
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
  return without_space_after(whole, {*begin, *end});
}

// Searching for the content's own text would be wrong for an answer such as "Yes", which the question may hold as well,
// and for one that the template trims. The replacement has letters and digits alone, which no filter changes. What
// stands in front and after it must be the same as before: otherwise the template looks into the content.
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

/// Where the marker that ends an inner turn ends, if it stands there, perhaps after white space.
std::optional<std::size_t> ChatRendering::after_marker(std::size_t position) const {
  const std::string_view rest = std::string_view(whole_.text).substr(position),
                         marked = python_strip(rest, PythonEnds::left);
  if (ends_.of_turn.empty() || !marked.starts_with(ends_.of_turn)) return std::nullopt;
  return position + (rest.size() - marked.size()) + ends_.of_turn.size();
}

// After the content: the marker that follows it; else the last one before the next message's content, since calls of
// tools may lie between. A message that has more members than its content cannot end with the content.
std::optional<std::size_t> ChatRendering::end_of(std::size_t message, std::size_t begin,
                                                 const std::optional<TextRange>& content) const {
  const std::string_view whole = whole_.text;
  if (content)
    if (const std::optional<std::size_t> end = after_marker(content->end)) return end;
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
