// generation_config.json

#include <algorithm>

#include "nn/language/ConfigKeys.hpp"
#include "nn/language/ConfigReading.hpp"

namespace multicard {

namespace {

using enum KeyUse;

constexpr const char* kOption = "options of generate and keys of evaluate take its place";
constexpr const char* kSpeed = "how transformers computes";
constexpr const char* kResults = "what transformers' calls return";
constexpr const char* kDraft = "of drafts by a second model, which the answer does not show";
constexpr const char* kBeams = "of beams, which have no effect without num_beams";

constexpr const char* kOtherTokens = "generate may draw tokens that transformers would not";
constexpr const char* kOtherSearch = "generate draws one token after the other, transformers searches for the answer";

// Nothing here is refused: the file only says how its authors draw tokens. What would draw others than `generate` does
// is named in a warning.
constexpr ForeignKey kGeneration[] = {
    {"eos_token_id", used, "ends an answer, in addition to that of config.json"},
    {"bos_token_id", used, "begins a text, where the tokenizer has none"},
    {"pad_token_id", harmless, "padding is never seen"},
    {"do_sample", harmless, kOption},
    {"temperature", harmless, kOption},
    {"top_k", harmless, kOption},
    {"top_p", harmless, kOption},
    {"repetition_penalty", named, "generate --repetition-penalty sets it", 1},
    {"max_new_tokens", harmless, kOption},
    {"max_length", harmless, kOption},
    {"stop_strings", named, "generate --stop sets them"},
    {"min_p", named, kOtherTokens},
    {"top_h", named, kOtherTokens, 1},
    {"typical_p", named, kOtherTokens, 1},
    {"epsilon_cutoff", named, kOtherTokens},
    {"eta_cutoff", named, kOtherTokens},
    {"min_length", named, kOtherTokens},
    {"min_new_tokens", named, kOtherTokens},
    {"encoder_repetition_penalty", named, kOtherTokens, 1},
    {"no_repeat_ngram_size", named, kOtherTokens},
    {"encoder_no_repeat_ngram_size", named, kOtherTokens},
    {"bad_words_ids", named, kOtherTokens},
    {"force_words_ids", named, kOtherTokens},
    {"constraints", named, kOtherTokens},
    {"forced_bos_token_id", named, kOtherTokens},
    {"forced_eos_token_id", named, kOtherTokens},
    {"exponential_decay_length_penalty", named, kOtherTokens},
    {"suppress_tokens", named, kOtherTokens},
    {"begin_suppress_tokens", named, kOtherTokens},
    {"sequence_bias", named, kOtherTokens},
    {"token_healing", named, kOtherTokens},
    {"guidance_scale", named, kOtherTokens, 1},
    {"watermarking_config", named, kOtherTokens},
    {"renormalize_logits", harmless, "drawing does it anyway"},
    {"remove_invalid_values", harmless, "values that are not finite are an error"},
    {"num_beams", named, kOtherSearch, 1},
    {"num_beam_groups", named, kOtherSearch, 1},
    {"penalty_alpha", named, kOtherSearch},
    {"dola_layers", named, kOtherSearch},
    {"length_penalty", harmless, kBeams},
    {"diversity_penalty", harmless, kBeams},
    {"early_stopping", harmless, kBeams},
    {"num_return_sequences", harmless, "one answer is given"},
    {"max_time", harmless, "generate has no limit of time"},
    {"decoder_start_token_id", harmless, "of models with an encoder"},
    {"is_assistant", harmless, kDraft},
    {"use_mtp", harmless, kDraft},
    {"num_assistant_tokens", harmless, kDraft},
    {"num_assistant_tokens_schedule", harmless, kDraft},
    {"assistant_confidence_threshold", harmless, kDraft},
    {"assistant_early_exit", harmless, kDraft},
    {"assistant_ensemble_weight", harmless, kDraft},
    {"assistant_lookbehind", harmless, kDraft},
    {"target_lookbehind", harmless, kDraft},
    {"prompt_lookup_num_tokens", harmless, kDraft},
    {"max_matching_ngram_size", harmless, kDraft},
    {"speculation_type", harmless, kDraft},
    {"use_cache", harmless, kSpeed},
    {"cache_implementation", harmless, kSpeed},
    {"cache_config", harmless, kSpeed},
    {"max_cache_len", harmless, kSpeed},
    {"compile_config", harmless, kSpeed},
    {"disable_compile", harmless, kSpeed},
    {"continuous_batching_config", harmless, kSpeed},
    {"low_memory", harmless, kSpeed},
    {"prefill_chunk_size", harmless, kSpeed},
    {"output_attentions", harmless, kResults},
    {"output_hidden_states", harmless, kResults},
    {"output_scores", harmless, kResults},
    {"output_logits", harmless, kResults},
    {"return_dict_in_generate", harmless, kResults},
    {"transformers_version", harmless, "who wrote the file"},
    {"_from_model_config", harmless, "who wrote the file"},
    {"trust_remote_code", harmless, "how transformers loads"},
    {"chat_format", harmless, "of older Qwen models' code"},
};

}  // namespace

ForeignFormat generation_format() {
  return {"generation", "generation_config.json", {kGeneration}};
}

// Chat models often name the end of a turn here and the end of the text in config.json: both end an answer.
void read_generation(const ConfigReader& keys, LlamaConfig& config) {
  for (const std::int64_t token : keys.tokens("eos_token_id"))
    if (std::find(config.eos.begin(), config.eos.end(), token) == config.eos.end()) config.eos.push_back(token);
  add_remarks(keys, generation_format(), config.generation_remarks);
}

}  // namespace multicard
