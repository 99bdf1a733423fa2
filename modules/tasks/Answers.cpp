#include "tasks/Answers.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "nn/Generate.hpp"

namespace multicard {

Prompter::Prompter(const std::string& folder) : tokenizer_(Tokenizer::load(folder)) {}

Prompter::Prompter(const std::string& folder, const std::string& template_name, const std::string& date)
    : Prompter(folder) {
  const TemplateDate day = TemplateDate::parse(date);
  template_ = template_name.empty() ? PromptTemplate::of_folder(folder, day)
                                    : PromptTemplate::resolve(template_name, folder, day);
}

std::vector<TokenId> Prompter::encode(const std::string& prompt) const {
  if (!template_) return encode_raw(prompt);
  if (!template_->completion_needs_eos()) {  // a chat template
    const std::vector<Message> messages{{"user", prompt}};
    return encode_pieces(*tokenizer_, template_->conversation(messages, Turn::open)).ids;
  }
  std::vector<TextPiece> pieces = template_->instruction(prompt, "", "");
  while (!pieces.empty() && pieces.back().is_target)  // what the model is to write itself
    pieces.pop_back();
  return encode_pieces(*tokenizer_, pieces).ids;
}

std::vector<TokenId> Prompter::encode_raw(const std::string& prompt) const {
  return tokenizer_->encode(prompt, SpecialTokens::add);
}

std::vector<std::int64_t> Prompter::end_ids() const {
  std::vector<std::int64_t> ids(tokenizer_->end_ids().begin(), tokenizer_->end_ids().end());
  // A base model may have learnt a template whose end of a turn its own files do not know as an end.
  if (!template_) return ids;
  const std::vector<TokenId> end = tokenizer_->encode(template_->end_of_turn(), SpecialTokens::leave_out);
  if (end.size() == 1) ids.push_back(end.front());
  return ids;
}

void check_room(const std::vector<TokenId>& prompt, const LlamaConfig& config, std::int64_t max_new,
                const std::string& what, const std::string& key) {
  if (prompt.empty()) throw UsageError(fmt::format("{} is empty", what), "there is nothing to continue");
  const std::int64_t needed = static_cast<std::int64_t>(prompt.size()) + max_new;
  if (needed > config.max_positions)
    throw UsageError(fmt::format("{} and its continuation need {} positions", what, needed),
                     fmt::format("the model has {}", config.max_positions),
                     fmt::format("Shorten the prompt or lower {}.", key));
}

std::string answer(Llama& network, const Prompter& prompter, const std::vector<TokenId>& prompt, std::int64_t max_new) {
  GenerateOptions options;
  options.sampling.temperature = 0;
  options.max_new = max_new;
  options.more_ends = prompter.end_ids();
  const std::vector<std::int64_t> ids = generate(network, {prompt.begin(), prompt.end()}, options);
  const std::vector<TokenId> written(ids.begin(), ids.end());
  return prompter.tokenizer()->decode(written, DecodeSpecial::skip);
}

}  // namespace multicard
