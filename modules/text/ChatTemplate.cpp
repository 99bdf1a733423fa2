#include "text/ChatTemplate.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Utf8.hpp"
#include "io/Bytes.hpp"
#include "text/Json.hpp"
#include "text/KnownTemplates.hpp"
#include "text/PythonText.hpp"

namespace multicard {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kAssistant = "assistant";
constexpr std::string_view kMessages = "messages", kFlag = "add_generation_prompt";

struct Sources {
  std::string chat;
  std::optional<std::string> with_tools = {};  ///< another one for conversations with tools
};

std::optional<std::string> read_if_there(const std::string& folder, const char* name) {
  const fs::path path = fs::path(folder) / name;
  std::error_code unused;
  return fs::exists(path, unused) ? std::optional(read_file(path.string())) : std::nullopt;
}

/// A text, or those called "default" and "tool_use" in a list of named ones.
std::optional<Sources> sources_in(const json& config, const std::string& path) {
  const json* value = optional_member(config, "chat_template");
  if (!value) return std::nullopt;
  if (value->is_string()) return Sources{value->get<std::string>()};
  std::optional<std::string> chat, with_tools;
  if (value->is_array())
    for (const json& entry : *value) {
      const json* name = optional_member(entry, "name");
      if (name && *name == "default") chat = text_member(entry, "template", "the default chat template");
      if (name && *name == "tool_use") with_tools = text_member(entry, "template", "the chat template for tools");
    }
  if (!chat)
    throw DataError(fmt::format("{} has chat templates, but none is the default one", path), "",
                    "Name a template: --template NAME.");
  return Sources{*chat, with_tools};
}

std::optional<Sources> sources_of(const std::string& folder) {
  if (std::optional<std::string> text = read_if_there(folder, "chat_template.jinja")) return Sources{*text};
  for (const char* name : {"tokenizer_config.json", "chat_template.json"}) {
    const std::string path = (fs::path(folder) / name).string();
    if (const std::optional<std::string> text = read_if_there(folder, name))
      if (std::optional<Sources> found = sources_in(parse_json(*text, path), path)) return found;
  }
  return std::nullopt;
}

/// The special tokens that a chat template may write, under their names.
std::vector<std::pair<std::string_view, std::string>> special_tokens(const std::string& folder) {
  std::vector<std::pair<std::string_view, std::string>> tokens;
  const std::optional<std::string> text = read_if_there(folder, "tokenizer_config.json");
  if (!text) return tokens;
  const json config = parse_json(*text, folder + "/tokenizer_config.json");
  for (const char* name :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    const json* value = optional_member(config, name);
    if (const json* content = value ? optional_member(*value, "content") : nullptr) value = content;
    if (value && value->is_string()) tokens.emplace_back(name, value->get<std::string>());
  }
  return tokens;
}

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

/// A conversation while its answers are looked for: its values are made once.
struct ChatTemplate::Rendering {
  const JinjaTemplate& source;
  const Prompt& prompt;
  Turn end;
  std::vector<JinjaValue> messages = {};
  JinjaTemplate::Variables variables = {};  ///< all but messages and add_generation_prompt
  JinjaGrowth growth{kMessages, kFlag};
  JinjaOutput whole = {};
  mutable JinjaWork work = {std::size_t{1} << 26};  // some seconds at worst

  JinjaOutput render(std::vector<JinjaValue> some, Turn as, const JinjaGrowth& shorter = {}) const {
    constexpr std::size_t kMostWork = std::size_t{1} << 30;  // ten seconds or so
    if (work.done > kMostWork) throw Exhausted();
    JinjaTemplate::Variables all = variables;
    all.emplace_back(kMessages, make_jinja_list(std::move(some)));
    all.emplace_back(kFlag, as == Turn::open);
    return source.render(all, shorter, work);
  }

  /// The text of the first messages, nothing where there are none or the template objects to them.
  std::optional<JinjaBeginning> first(std::size_t count, Turn as) const {
    if (count == 0) return std::nullopt;
    const std::pair key(count, as == Turn::open);
    const auto place = std::lower_bound(
        growth.wanted.begin(), growth.wanted.end(), key,
        [](const JinjaGrowth::End& one, const auto& wanted) { return std::pair(one.length, one.flag) < wanted; });
    if (place != growth.wanted.end() && std::pair(place->length, place->flag) == key)
      if (const auto& known = whole.beginnings[static_cast<std::size_t>(place - growth.wanted.begin())])
        return known->rest ? known : std::nullopt;
    try {
      const auto stop = messages.begin() + static_cast<std::ptrdiff_t>(count);
      return JinjaBeginning{0, render({messages.begin(), stop}, as).text};
    } catch (const Exhausted&) {
      throw;
    } catch (const JinjaError&) {
      return std::nullopt;
    }
  }

  /// Where that text ends in the whole one, if that begins with it.
  std::optional<std::size_t> end_of(const JinjaBeginning& text) const {
    const std::string_view behind = std::string_view(whole.text).substr(text.shared);
    return behind.starts_with(*text.rest) ? std::optional(text.shared + text.rest->size()) : std::nullopt;
  }
};

ChatTemplate::ChatTemplate(std::string name, std::string folder, std::string_view source, const Specials& specials,
                           const TemplateDate& date)
    : name_(std::move(name)), folder_(std::move(folder)), template_(source, date) {
  for (const auto& [token, text] : specials) {
    specials_.emplace_back(token, text);
    if (token == "eos_token") eos_ = text;
  }
  find_end_of_turn();
}

std::shared_ptr<const ChatTemplate> ChatTemplate::of_folder(const std::string& folder, const TemplateDate& date) {
  const std::optional<Sources> sources = sources_of(folder);
  if (!sources) return nullptr;
  try {
    std::shared_ptr<ChatTemplate> own(
        new ChatTemplate(PromptTemplate::kOwn, folder, sources->chat, special_tokens(folder), date));
    if (sources->with_tools) own->tool_template_ = std::make_unique<const JinjaTemplate>(*sources->with_tools, date);
    return own;
  } catch (const JinjaError& error) {
    throw DataError(fmt::format("the chat template of {} cannot be used", folder), error.what(),
                    "Name a template: --template NAME.");
  }
}

std::shared_ptr<const ChatTemplate> ChatTemplate::known(std::string_view name) {
  for (const KnownTemplate& one : known_templates())
    if (name == one.name)
      return std::shared_ptr<const ChatTemplate>(
          new ChatTemplate(one.name, "", one.source, {{"bos_token", one.bos}, {"eos_token", one.eos}}));
  return nullptr;
}

std::vector<std::string> ChatTemplate::known_names() {
  std::vector<std::string> names;
  for (const KnownTemplate& one : known_templates())
    names.emplace_back(one.name);
  return names;
}

ChatTemplate::Rendering ChatTemplate::prepare(const Prompt& prompt, Turn end) const {
  const bool has_other = !prompt.tools.empty() && tool_template_;
  Rendering rendering{has_other ? *tool_template_ : template_, prompt, end};
  for (const Message& message : prompt.messages)
    rendering.messages.push_back(value_of(message, rendering.source));
  rendering.variables = specials_;
  rendering.variables.emplace_back("tools", parsed(prompt.tools, "\"tools\""));
  rendering.variables.emplace_back("documents", parsed(prompt.documents, "\"documents\""));
  if (!rendering.source.has_generation()) rendering.growth.wanted = ends_of_answers(prompt.messages, end);
  rendering.whole = rendering.render(rendering.messages, end, rendering.growth);
  return rendering;
}

bool ChatTemplate::mentions(std::string_view word) const {
  return template_.mentions(word) || (tool_template_ && tool_template_->mentions(word));
}

std::vector<TextPiece> ChatTemplate::pieces(const Prompt& prompt, Turn end) const {
  const Rendering rendering = prepare(prompt, end);
  const std::string& text = rendering.whole.text;
  std::vector<TextPiece> pieces;
  const auto add = [&](std::size_t begin, std::size_t stop, bool is_target) {
    if (begin < stop) pieces.push_back({text.substr(begin, stop - begin), is_target, false, !pieces.empty()});
  };
  std::size_t done = 0;
  for (const TextRange& range : answers(rendering)) {
    add(done, range.begin, false);
    add(range.begin, range.end, true);
    done = range.end;
  }
  add(done, text.size(), false);
  if (!pieces.empty()) pieces.front().is_begin = !folder_.empty();
  return pieces;
}

std::vector<TextRange> ChatTemplate::answers(const Rendering& rendering) const {
  std::vector<std::size_t> all;
  const std::span<const Message> messages = rendering.prompt.messages;
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (messages[i].role == kAssistant) all.push_back(i);
  const bool are_all_trained =
      std::all_of(all.begin(), all.end(), [&](std::size_t i) { return messages[i].is_trained; });
  const std::vector<TextRange>& generated = rendering.whole.generated;
  const bool has_blocks = rendering.source.has_generation() && !rendering.whole.has_hidden_generation;
  if (has_blocks && are_all_trained) return generated;
  std::vector<TextRange> ranges;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!messages[all[i]].is_trained) continue;
    const TextRange range = has_blocks && generated.size() == all.size() ? generated[i] : answer(rendering, all[i]);
    if (!ranges.empty() && range.begin < ranges.back().end) throw JinjaError("its answers overlap in its text");
    ranges.push_back(range);
  }
  return ranges;
}

TextRange ChatTemplate::answer(const Rendering& rendering, std::size_t message) const {
  const std::string_view whole = rendering.whole.text;
  const bool is_last = message + 1 == rendering.messages.size() && rendering.end == Turn::closed;
  std::optional<std::size_t> begin, end;
  if (const std::optional<JinjaBeginning> before = rendering.first(message, Turn::open))
    begin = rendering.end_of(*before);
  if (begin && is_last) {
    end = whole.size();
  } else if (begin) {
    std::optional<JinjaBeginning> with = rendering.first(message + 1, Turn::closed);
    if (with) end = rendering.end_of(*with);
    if (with && !end && !eos_.empty() && with->rest->ends_with(eos_)) {
      with->rest->resize(with->rest->size() - eos_.size());
      end = rendering.end_of(*with);
    }
    if (end && *end < *begin) end.reset();
  }
  if (!end) {
    const std::optional<TextRange> content = content_of(rendering, message);
    if (content) begin = std::min(begin.value_or(content->begin), content->begin);
    if (begin) end = end_of(rendering, message, *begin, content);
  }
  if (!end)
    throw JinjaError(
        fmt::format("message {} cannot be found in its text, because the template writes the conversation "
                    "differently when it continues",
                    message + 1));
  return {*begin, *begin + python_strip(whole.substr(*begin, *end - *begin), PythonEnds::right).size()};
}

std::optional<TextRange> ChatTemplate::content_of(const Rendering& rendering, std::size_t message) const {
  const std::string_view whole = rendering.whole.text;
  std::string other = "Qx7RenderedHere";
  while (whole.find(other) != std::string_view::npos)
    other += 'z';
  std::vector<JinjaValue> messages = rendering.messages;
  Message changed = rendering.prompt.messages[message];
  changed.content = other;
  changed.has_content = true;
  messages[message] = value_of(changed, rendering.source);
  std::string text;
  try {
    text = rendering.render(std::move(messages), rendering.end).text;
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

std::optional<std::size_t> ChatTemplate::end_of(const Rendering& rendering, std::size_t message, std::size_t begin,
                                                const std::optional<TextRange>& content) const {
  const std::string_view whole = rendering.whole.text;
  if (content && !end_of_turn_.empty()) {
    const std::string_view rest = whole.substr(content->end), marked = python_strip(rest, PythonEnds::left);
    if (marked.starts_with(end_of_turn_)) return content->end + (rest.size() - marked.size()) + end_of_turn_.size();
  }
  const bool has_next = message + 1 < rendering.messages.size();
  const std::optional<TextRange> next = has_next ? content_of(rendering, message + 1) : std::nullopt;
  if (!end_of_turn_.empty() && (next || !has_next)) {
    const std::string_view before = whole.substr(0, next ? next->begin : whole.size());
    const std::size_t last = before.rfind(end_of_turn_);
    if (last != std::string_view::npos && last >= begin) return last + end_of_turn_.size();
  }
  const bool has_more = !rendering.prompt.messages[message].fields.empty();
  return content && !has_more ? std::optional(content->end) : std::nullopt;
}

void ChatTemplate::find_end_of_turn() {
  const std::string answer = "Qx7Answer";
  const std::vector<Message> messages{{"user", "Question"}, {"assistant", answer}, {"user", "Next"}};
  try {
    const auto text_of = [&](std::size_t count) {
      const Prompt prompt{std::span(messages).first(count)};
      const std::string text = prepare(prompt, Turn::closed).whole.text;
      const std::size_t at = text.find(answer);
      return at == std::string::npos ? std::string() : text.substr(at + answer.size());
    };
    // What ends an answer stands behind it whether something follows or not.
    const std::string last = text_of(2), middle = text_of(3);
    const auto end = std::mismatch(last.begin(), last.end(), middle.begin(), middle.end()).first;
    std::string_view common(last.data(), static_cast<std::size_t>(end - last.begin()));
    if (common.size() < last.size() && last.ends_with(eos_)) {  // an EOS at the very end, whose beginning may be common
      const std::string_view without = std::string_view(last).substr(0, last.size() - eos_.size());
      if (without.size() <= common.size()) common = without;
    }
    end_of_turn_ = python_strip(common);
  } catch (const JinjaError&) {
    // It stays unknown: the template has conditions that this conversation does not meet.
  }
}

}  // namespace multicard
