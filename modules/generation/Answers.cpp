#include "generation/Answers.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "text/prompts/StopStrings.hpp"
#include "text/tokenizer/StreamDecoder.hpp"

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

// Only an end of turn that is one token can end an answer by its id: generation compares single tokens.
std::vector<std::int64_t> Prompter::end_ids() const {
  std::vector<std::int64_t> ids(tokenizer_->end_ids().begin(), tokenizer_->end_ids().end());
  // A base model may have learnt a template whose end of a turn its own files do not know as an end.
  if (!template_) return ids;
  for (const std::string& text : template_->ends_of_turn())
    if (const std::vector<TokenId> end = tokenizer_->encode(text, SpecialTokens::leave_out); end.size() == 1)
      ids.push_back(end.front());
  return ids;
}

void check_prompt(const std::vector<TokenId>& prompt, const LlamaConfig& config, std::int64_t max_new,
                  const std::string& what, const std::string& key) {
  if (prompt.empty()) throw UsageError(fmt::format("{} is empty", what), "there is nothing to continue");
  // Tokenizers get tokens that the weights have no embedding of.
  if (const auto largest = static_cast<std::int64_t>(*std::max_element(prompt.begin(), prompt.end()));
      largest >= config.vocabulary_size)
    throw DataError(fmt::format("{} holds the token {}", what, largest),
                    fmt::format("the model has embeddings of {} tokens (vocab_size)", config.vocabulary_size),
                    "Use the tokenizer that belongs to the weights.");
  const std::int64_t needed = static_cast<std::int64_t>(prompt.size()) + max_new;
  if (needed > config.max_positions)
    throw UsageError(fmt::format("{} and its continuation need {} positions", what, needed),
                     fmt::format("the model has {}", config.max_positions),
                     fmt::format("Shorten the prompt or lower {}.", key));
}

namespace {

/// The answer to one prompt while its tokens arrive.
struct GrowingText {
  StreamDecoder decoder;
  StopStrings stop;
  std::string text;

  /// What is new.
  std::string take(const std::string& piece) {
    std::string shown = stop.next(piece);
    text += shown;
    return shown;
  }
  /// The same at the end.
  std::string finish() { return take(decoder.finish()) + stop.finish(); }
};

}  // namespace

std::vector<Answer> answers(Llama& network, const Prompter& prompter, const EncodedPrompts& prompts,
                            const AnswerOptions& options, const ShowText& show) {
  GenerateOptions generating = options.generate;
  const std::vector<std::int64_t> ends = prompter.end_ids();
  generating.more_ends.insert(generating.more_ends.end(), ends.begin(), ends.end());
  std::vector<std::vector<std::int64_t>> ids;
  for (const std::vector<TokenId>& prompt : prompts)
    ids.emplace_back(prompt.begin(), prompt.end());
  // Decoding token by token costs time on every token of every answer; without a viewer or stop strings it is left out,
  // and the answer is decoded once at its end.
  const bool is_watched = show || !options.stops.empty();
  std::vector<GrowingText> texts(prompts.size(),
                                 {{prompter.tokenizer(), DecodeSpecial::skip}, StopStrings(options.stops), {}});
  const std::vector<Generated> all = generate(network, ids, generating, [&](std::size_t number, std::int64_t token) {
    if (!is_watched) return true;
    GrowingText& text = texts[number];
    const std::string piece = text.take(text.decoder.next(static_cast<TokenId>(token)));
    if (show) show(number, piece);
    return !text.stop.stopped();
  });
  std::vector<Answer> found;
  for (std::size_t number = 0; number < all.size(); ++number) {
    const std::string rest = texts[number].finish();
    if (show) show(number, rest);
    const std::vector<TokenId> written(all[number].tokens.begin(), all[number].tokens.end());
    // The text up to the stop string is what was shown; the ids include the tokens of the stop string itself.
    if (texts[number].stop.stopped())
      found.push_back({all[number].tokens, texts[number].text, Finish::stopped});
    else
      found.push_back(
          {all[number].tokens, prompter.tokenizer()->decode(written, DecodeSpecial::skip), all[number].finish});
  }
  return found;
}

std::int64_t greedy_answer_bytes(const AnswerMemory& memory, const EncodedPrompts& prompts, std::int64_t max_new) {
  std::int64_t most = 0;
  for (auto first = prompts.begin(); first != prompts.end();) {
    const auto end = first + std::min<std::ptrdiff_t>(kAnswersAtOnce, prompts.end() - first);
    std::vector<std::int64_t> lengths;
    for (; first != end; ++first)
      lengths.push_back(std::ssize(*first));
    most = std::max(most, memory.peak(lengths, max_new));
  }
  return most;
}

// Groups are cut by position and not by length: which prompts share a batch decides the last bits of the sums, and the
// answers must be the same on any number of ranks (answering_rank()).
std::vector<std::string> greedy_answers(Llama& network, const Prompter& prompter, const EncodedPrompts& prompts,
                                        std::int64_t max_new) {
  AnswerOptions options;
  options.generate.sampling.temperature = 0;
  options.generate.max_new = max_new;
  options.generate.batch = kAnswersAtOnce;
  std::vector<std::string> texts;
  for (auto first = prompts.begin(); first != prompts.end();) {
    const auto end = first + std::min<std::ptrdiff_t>(kAnswersAtOnce, prompts.end() - first);
    for (Answer& answer : answers(network, prompter, {first, end}, options))
      texts.push_back(std::move(answer.text));
    first = end;
  }
  return texts;
}

}  // namespace multicard
