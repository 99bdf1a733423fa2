#include "text/ChatTemplate.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "text/ChatTemplateFiles.hpp"
#include "text/KnownTemplates.hpp"
#include "text/PythonText.hpp"

namespace multicard {

ChatTemplate::ChatTemplate(std::string name, std::string folder, std::string_view source,
                           const TemplateSpecials& specials, const TemplateDate& date)
    : name_(std::move(name)), folder_(std::move(folder)), template_(source, date) {
  for (const auto& [token, text] : specials) {
    specials_.emplace_back(token, text);
    if (token == "eos_token") eos_ = text;
  }
  find_end_of_turn();
}

std::shared_ptr<const ChatTemplate> ChatTemplate::of_folder(const std::string& folder, const TemplateDate& date) {
  const std::optional<ChatTemplateSources> sources = chat_template_sources(folder);
  if (!sources) return nullptr;
  try {
    std::shared_ptr<ChatTemplate> own(
        new ChatTemplate(PromptTemplate::kOwn, folder, sources->chat, template_specials(folder), date));
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

ChatRendering ChatTemplate::prepare(const Prompt& prompt, Turn end) const {
  const bool has_other = !prompt.tools.empty() && tool_template_;
  return {has_other ? *tool_template_ : template_, specials_, {eos_, end_of_turn_}, prompt, end};
}

bool ChatTemplate::mentions(std::string_view word) const {
  return template_.mentions(word) || (tool_template_ && tool_template_->mentions(word));
}

std::vector<TextPiece> ChatTemplate::pieces(const Prompt& prompt, Turn end) const {
  const ChatRendering rendering = prepare(prompt, end);
  const std::string& text = rendering.text();
  std::vector<TextPiece> pieces;
  const auto add = [&](std::size_t begin, std::size_t stop, bool is_target) {
    if (begin < stop) pieces.push_back({text.substr(begin, stop - begin), is_target, false, !pieces.empty()});
  };
  std::size_t done = 0;
  for (const TextRange& range : rendering.answers()) {
    add(done, range.begin, false);
    add(range.begin, range.end, true);
    done = range.end;
  }
  add(done, text.size(), false);
  if (!pieces.empty()) pieces.front().is_begin = !folder_.empty();
  return pieces;
}

void ChatTemplate::find_end_of_turn() {
  const std::string answer = "Qx7Answer";
  const std::vector<Message> messages{{"user", "Question"}, {"assistant", answer}, {"user", "Next"}};
  try {
    const auto text_of = [&](std::size_t count) {
      const Prompt prompt{std::span(messages).first(count)};
      const std::string text = prepare(prompt, Turn::closed).text();
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
