#include "nn/language/ConfigKeys.hpp"

namespace multicard {

namespace {

using enum KeyUse;

constexpr const char* kName = "a name of the model";
constexpr const char* kLoading = "how transformers loads or computes";
constexpr const char* kResults = "what transformers' calls return";
constexpr const char* kClassifier = "of classifiers";
constexpr const char* kOtherDropout = "these classes have no such dropout";
constexpr const char* kGeneration = "transformers takes it from generation_config.json";
constexpr const char* kExperts = "a mixture of experts";
constexpr const char* kSeveralInputs = "inputs other than text";
constexpr const char* kScale = "another scale of the network's values";
constexpr const char* kOtherAttention = "another attention";

// A key that would change the network is either read or refused: a model that is loaded without it would train, and be
// wrong. Keys of loading, of results and of other classes are known to be harmless; any other key is named in a
// warning.
constexpr ForeignKey kAll[] = {
    {"architectures", used, "the class"},
    {"model_type", used, "the network, which is that of architectures"},
    {"vocab_size", used, "rows of the embeddings"},
    {"hidden_size", used, "width of the residual stream"},
    {"intermediate_size", used, "width of the MLPs"},
    {"num_hidden_layers", used, "number of blocks"},
    {"num_attention_heads", used, "heads of queries"},
    {"num_key_value_heads", used, "heads of keys and values; null: as many as of queries"},
    {"head_dim", used, "width of a head"},
    {"hidden_act", used, "the MLPs' activation; silu alone is supported"},
    {"max_position_embeddings", used, "longest text"},
    {"rms_norm_eps", used, "of the norms"},
    {"initializer_range", used, "deviation of fresh weights"},
    {"tie_word_embeddings", used, "whether lm_head is the embeddings"},
    {"rope_parameters", used, "rotary positions"},
    {"rope_scaling", used, "the same in older files; counts where both are there"},
    {"rope_theta", used, "base of rotary positions, where neither of them has it"},
    {"partial_rotary_factor", used, "part of a head that is rotated; 1 alone is supported"},
    {"original_max_position_embeddings", used, "as in rope_parameters; counts where both are there"},
    {"attention_dropout", used, "0 in training; elsewhere there is no dropout"},
    {"layer_types", used, "which layers have a window"},
    {"bos_token_id", used, "begins a text"},
    {"eos_token_id", used, "ends a text; one or several"},
    {"dtype", used, "type of the weights"},
    {"torch_dtype", used, "the same in older files"},
    {"quantization_config", used, "how weights are packed"},
    {"pad_token_id", harmless, "padding is never seen"},
    {"transformers_version", harmless, "who wrote the file"},
    {"_name_or_path", harmless, kName},
    {"name_or_path", harmless, kName},
    {"_commit_hash", harmless, kName},
    {"use_cache", harmless, kLoading},
    {"chunk_size_feed_forward", harmless, kLoading},
    {"pretraining_tp", harmless, "transformers 5 reads it no longer"},
    {"torchscript", harmless, kLoading},
    {"tf_legacy_loss", harmless, kLoading},
    {"use_bfloat16", harmless, kLoading},
    {"attn_implementation", harmless, kLoading},
    {"_attn_implementation", harmless, kLoading},
    {"_attn_implementation_autoset", harmless, kLoading},
    {"_flash_attn_2_enabled", harmless, kLoading},
    {"experts_implementation", harmless, kLoading},
    {"_experts_implementation", harmless, kLoading},
    {"gradient_checkpointing", harmless, kLoading},
    {"auto_map", harmless, "code of its own, which transformers runs with trust_remote_code alone"},
    {"keys_to_ignore_at_inference", harmless, kResults},
    {"return_dict", harmless, kResults},
    {"output_attentions", harmless, kResults},
    {"output_hidden_states", harmless, kResults},
    {"tie_last_hidden_states", harmless, kResults},
    {"id2label", harmless, kClassifier},
    {"label2id", harmless, kClassifier},
    {"num_labels", harmless, kClassifier},
    {"problem_type", harmless, kClassifier},
    {"classifier_dropout", harmless, kClassifier},
    {"finetuning_task", harmless, kClassifier},
    {"task_specific_params", harmless, "of other tasks"},
    {"is_decoder", harmless, "of models with an encoder"},
    {"tie_encoder_decoder", harmless, "of models with an encoder"},
    {"cross_attention_hidden_size", harmless, "of models with an encoder"},
    {"decoder_start_token_id", harmless, "of models with an encoder"},
    {"tokenizer_class", harmless, "tokenizer_config.json has it"},
    {"sep_token_id", harmless, "tokenizer_config.json has it"},
    {"prefix", harmless, "of pipelines"},
    {"model_max_length", harmless, "longest text in training"},
    {"max_sequence_length", harmless, "longest text in training"},
    {"seq_length", harmless, "longest text in training"},
    {"dropout", harmless, kOtherDropout},
    {"embd_pdrop", harmless, kOtherDropout},
    {"resid_pdrop", harmless, kOtherDropout},
    {"attn_pdrop", harmless, kOtherDropout},
    {"hidden_dropout", harmless, kOtherDropout},
    {"is_llama_config", harmless, "a note of the converter"},
    {"transformers.js_config", harmless, "of transformers.js"},
    {"unsloth_fixed", harmless, "a note of Unsloth"},
    {"unsloth_version", harmless, "a note of Unsloth"},
};

/// Older files hold defaults of generation. transformers 5 drops them.
constexpr ForeignKey kOldGeneration[] = {
    {"do_sample", harmless, kGeneration},
    {"temperature", harmless, kGeneration},
    {"top_k", harmless, kGeneration},
    {"top_p", harmless, kGeneration},
    {"typical_p", harmless, kGeneration},
    {"repetition_penalty", harmless, kGeneration},
    {"length_penalty", harmless, kGeneration},
    {"diversity_penalty", harmless, kGeneration},
    {"no_repeat_ngram_size", harmless, kGeneration},
    {"encoder_no_repeat_ngram_size", harmless, kGeneration},
    {"bad_words_ids", harmless, kGeneration},
    {"suppress_tokens", harmless, kGeneration},
    {"begin_suppress_tokens", harmless, kGeneration},
    {"forced_bos_token_id", harmless, kGeneration},
    {"forced_eos_token_id", harmless, kGeneration},
    {"exponential_decay_length_penalty", harmless, kGeneration},
    {"remove_invalid_values", harmless, kGeneration},
    {"early_stopping", harmless, kGeneration},
    {"num_beams", harmless, kGeneration},
    {"num_beam_groups", harmless, kGeneration},
    {"num_return_sequences", harmless, kGeneration},
    {"max_length", harmless, kGeneration},
    {"max_new_tokens", harmless, kGeneration},
    {"min_length", harmless, kGeneration},
    {"output_scores", harmless, kGeneration},
    {"return_dict_in_generate", harmless, kGeneration},
};

/// Of other networks, whose files sometimes name one of these classes.
constexpr ForeignKey kOtherNetworks[] = {
    {"per_layer_config", unsupported, "layers that differ"},
    {"is_encoder_decoder", unsupported, "an encoder"},
    {"add_cross_attention", unsupported, "an encoder"},
    {"pruned_heads", unsupported, "heads that are left out"},
    {"compression_config", unsupported, "another way to pack weights"},
    {"num_experts", unsupported, kExperts},
    {"num_local_experts", unsupported, kExperts},
    {"n_routed_experts", unsupported, kExperts},
    {"num_experts_per_tok", unsupported, kExperts},
    {"moe_intermediate_size", unsupported, kExperts},
    {"text_config", unsupported, kSeveralInputs},
    {"vision_config", unsupported, kSeveralInputs},
    {"audio_config", unsupported, kSeveralInputs},
    // The number is the value with which the key changes nothing: a file may hold it.
    {"embedding_multiplier", unsupported, kScale, 1},
    {"attention_multiplier", unsupported, kScale, 1},
    {"residual_multiplier", unsupported, kScale, 1},
    {"logits_scaling", unsupported, kScale, 1},
    {"logit_scale", unsupported, kScale, 1},
    {"scale_emb", unsupported, kScale, 1},
    {"scale_depth", unsupported, kScale},
    {"query_pre_attn_scalar", unsupported, kScale},
    {"final_logit_softcapping", unsupported, "a bound of the logits"},
    {"attn_logit_softcapping", unsupported, kOtherAttention},
    {"attention_chunk_size", unsupported, kOtherAttention},
    {"attn_temperature_tuning", unsupported, kOtherAttention},
    {"kv_lora_rank", unsupported, kOtherAttention},
    {"q_lora_rank", unsupported, kOtherAttention},
    {"clip_qkv", unsupported, kOtherAttention},
    {"qk_norm", unsupported, "norms of queries and keys"},
    {"use_qk_norm", unsupported, "norms of queries and keys"},
    {"qk_layernorm", unsupported, "norms of queries and keys"},
    {"no_rope_layers", unsupported, "layers without positions"},
    {"no_rope_layer_interval", unsupported, "layers without positions"},
    {"alibi", unsupported, "another kind of positions"},
    {"rotary_pct", unsupported, "part of a head that is rotated", 1},
    {"rotary_dim", unsupported, "part of a head that is rotated"},
    {"rope_interleaved", unsupported, "another order of rotated values"},
    {"parallel_attn", unsupported, "attention parallel to the MLP"},
    {"use_parallel_residual", unsupported, "attention parallel to the MLP"},
};

constexpr const char* kNoWindow = "this class does not read it";
constexpr const char* kNoBias = "this class does not read it; biases in the files that it has not are refused";
constexpr const char* kWindow = "tokens that each token sees; null: all";

constexpr ForeignKey kLlama[] = {
    {"attention_bias", used, "biases of the attention's layers"},
    {"mlp_bias", used, "biases of the MLPs"},
    {"sliding_window", used, "not below max_position_embeddings: this class has no window"},
    {"use_sliding_window", harmless, kNoWindow},
    {"max_window_layers", harmless, kNoWindow},
};

constexpr ForeignKey kMistral[] = {
    {"sliding_window", used, "tokens that each token sees, in all layers; missing: 4096, null: all"},
    {"attention_bias", harmless, kNoBias},
    {"mlp_bias", harmless, kNoBias},
    {"use_sliding_window", harmless, kNoWindow},
    {"max_window_layers", harmless, kNoWindow},
};

constexpr ForeignKey kQwen2[] = {
    {"use_sliding_window", used, "whether sliding_window counts"},
    {"sliding_window", used, kWindow},
    {"max_window_layers", used, "layers without a window, where layer_types is missing"},
    {"attention_bias", harmless, "queries, keys and values always have biases, the output never"},
    {"mlp_bias", harmless, kNoBias},
};

constexpr ForeignKey kQwen3[] = {
    {"attention_bias", used, "biases of the attention's layers"},
    {"use_sliding_window", used, "whether sliding_window counts"},
    {"sliding_window", used, kWindow},
    {"max_window_layers", used, "layers without a window, where layer_types is missing"},
    {"mlp_bias", harmless, kNoBias},
};

std::span<const ForeignKey> keys_of(LlamaArchitecture architecture) {
  switch (architecture) {
    case LlamaArchitecture::mistral:
      return kMistral;
    case LlamaArchitecture::qwen2:
      return kQwen2;
    case LlamaArchitecture::qwen3:
      return kQwen3;
    case LlamaArchitecture::llama:
      break;
  }
  return kLlama;
}

}  // namespace

ForeignFormat config_format(LlamaArchitecture architecture) {
  return {"config", "config.json", {kAll, keys_of(architecture), kOldGeneration, kOtherNetworks}};
}

std::vector<ForeignFormat> config_formats() {
  using enum LlamaArchitecture;
  std::vector<ForeignFormat> formats{{"config", "config.json of any class", {kAll, kOldGeneration, kOtherNetworks}}};
  for (const LlamaArchitecture architecture : {llama, mistral, qwen2, qwen3})
    formats.push_back(
        {model_type_of(architecture), "config.json of a " + name_of(architecture), {keys_of(architecture)}});
  for (const ForeignFormat& format : {rope_format(), nf4_format(), int4_format(), generation_format()})
    formats.push_back(format);
  return formats;
}

}  // namespace multicard
