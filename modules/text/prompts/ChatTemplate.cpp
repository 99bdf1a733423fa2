#include "text/prompts/ChatTemplate.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "text/prompts/ChatTemplateFiles.hpp"

namespace multicard {

ChatTemplate::ChatTemplate(std::string folder, std::string_view source, const TemplateSpecials& specials,
                           const TemplateDate& date)
    : folder_(std::move(folder)), template_(source, date) {
  for (const auto& [token, text] : specials) {
    specials_.emplace_back(token, text);
    if (token == "eos_token") eos_ = text;
  }
  find_turn_ends();
}

ChatTemplate::ChatTemplate(const KnownTemplate& known) : ChatTemplate("", known.source, known.variables) {
  ends_with_eos_ = known.ends_with_eos;
}

std::shared_ptr<const ChatTemplate> ChatTemplate::of_folder(const std::string& folder, const TemplateDate& date) {
  const std::optional<ChatTemplateSources> sources = chat_template_sources(folder);
  if (!sources) return nullptr;
  try {
    std::shared_ptr<ChatTemplate> own(new ChatTemplate(folder, sources->chat, template_specials(folder), date));
    if (sources->with_tools) own->tool_template_ = std::make_unique<const JinjaTemplate>(*sources->with_tools, date);
    return own;
  } catch (const JinjaError& error) {
    throw DataError(fmt::format("the chat template of {} cannot be used", folder), error.what(),
                    "Name a template: --template NAME.");
  }
}

ChatRendering ChatTemplate::prepare(const Prompt& prompt, Turn end) const {
  const bool has_other = !prompt.tools.empty() && tool_template_;
  return {has_other ? *tool_template_ : template_, specials_, {eos_, turn_ends_.inner}, prompt, end};
}

bool ChatTemplate::mentions(std::string_view word) const {
  return template_.mentions(word) || (tool_template_ && tool_template_->mentions(word));
}

// A chat template's text is tokenised as a whole, as apply_chat_template() does it: a token may reach over the border
// of an answer, and texts that are encoded piece by piece give other ids. Only where an EOS comes in between, which is
// no text, pieces are encoded apart. A folder's template writes its BOS itself.
std::vector<TextPiece> ChatTemplate::pieces(const Prompt& prompt, Turn end) const {
  const ChatRendering rendering = prepare(prompt, end);
  const std::string& text = rendering.text();
  std::vector<TextPiece> pieces;
  const auto add = [&](std::size_t begin, std::size_t stop, bool is_target) {
    const bool has_eos = is_target && ends_with_eos_;
    if (begin < stop || has_eos)
      pieces.push_back({text.substr(begin, stop - begin), is_target, has_eos, !pieces.empty() && !ends_with_eos_});
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

// The markers are read off two renderings of a conversation whose contents occur nowhere else. An answer at the end and
// one that a question follows are looked at apart, because an EOS or another marker (gpt-oss) may end the last one.
void ChatTemplate::find_turn_ends() {
  const std::string question = "Qx7Question", answer = "Qx7Answer", next = "Qx7Next";
  const std::vector<Message> messages{{"user", question}, {"assistant", answer}, {"user", next}};
  try {
    const std::string two = prepare({std::span(messages).first(2)}, Turn::closed).text();
    const std::string three = prepare({std::span(messages)}, Turn::closed).text();
    // The text of `whole` between two others, nothing where they do not follow each other.
    const auto between = [](std::string_view whole, std::string_view before, std::string_view after) {
      const std::size_t at = before.empty() ? 0 : whole.find(before);
      if (at == std::string_view::npos) return std::string_view();
      const std::string_view rest = whole.substr(at + before.size());
      const std::size_t end = after.empty() ? rest.size() : rest.find(after);
      return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
    };
    const std::string_view beginning = between(three, "", question), first = between(three, question, answer);
    turn_ends_ =
        multicard::find_turn_ends({beginning, first, between(two, answer, ""), between(three, answer, next)}, eos_);
  } catch (const JinjaError&) {
    // They stay unknown: the template has conditions that this conversation does not meet.
  }
}

}  // namespace multicard
