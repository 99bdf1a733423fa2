#include "text/tokenizer/TokenizerKeys.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace multicard {

namespace {

using nlohmann::json;
using enum KeyUse;

constexpr ForeignKey kTokenizer[] = {
    {"model", used, "vocabulary and merges"},
    {"added_tokens", used, "further tokens"},
    {"normalizer", used, "what a text is changed to first"},
    {"pre_tokenizer", used, "where it is split"},
    {"post_processor", used, "tokens around it"},
    {"decoder", used, "from tokens to text"},
    {"version", harmless, "of the format"},
    {"truncation", harmless, "transformers turns it off"},
    {"padding", harmless, "transformers turns it off"},
};

constexpr ForeignKey kModel[] = {
    {"type", used, "BPE alone is supported"},
    {"vocab", used, "ids by text"},
    {"merges", used, "pairs in their order"},
    {"unk_token", used, "what stands for other characters"},
    {"fuse_unk", used, "whether several of them are one"},
    {"byte_fallback", used, "whether tokens of bytes stand for them"},
    {"ignore_merges", used, "whether words of the vocabulary are taken whole"},
    {"dropout", used, "0 alone is supported"},
    {"continuing_subword_prefix", used, "empty alone is supported"},
    {"end_of_word_suffix", used, "empty alone is supported"},
};

constexpr ForeignKey kStep[] = {
    {"type", used, "the step"},
    {"normalizers", used, "steps of a Sequence"},
    {"pretokenizers", used, "steps of a Sequence"},
    {"processors", used, "steps of a Sequence"},
    {"decoders", used, "steps of a Sequence"},
    {"pattern", used, "of Split and Replace"},
    {"content", used, "of Replace and Strip"},
    {"behavior", used, "of Split and Punctuation"},
    {"invert", used, "of Split"},
    {"prepend", used, "of Prepend"},
    {"strip_left", used, "of Strip"},
    {"strip_right", used, "of Strip"},
    {"start", used, "of Strip"},
    {"stop", used, "of Strip"},
    {"individual_digits", used, "of Digits"},
    {"add_prefix_space", used, "of ByteLevel and Metaspace"},
    {"use_regex", used, "of ByteLevel"},
    {"replacement", used, "of Metaspace"},
    {"prepend_scheme", used, "of Metaspace"},
    {"split", used, "of Metaspace"},
    {"suffix", used, "of BPEDecoder"},
    {"single", used, "of TemplateProcessing"},
    {"special_tokens", used, "of TemplateProcessing"},
    {"sep", used, "of BertProcessing and RobertaProcessing"},
    {"cls", used, "of BertProcessing and RobertaProcessing"},
    {"pair", harmless, "of two texts, which are never given"},
    {"trim_offsets", harmless, "of places in a text, which are not needed"},
    {"str_rep", harmless, "of Metaspace in older files, the same as replacement"},
};

constexpr ForeignKey kAddedToken[] = {
    {"id", used, "its number"},
    {"content", used, "its text"},
    {"special", used, "whether it is left out of decoded text"},
    {"single_word", used, "whether it is a word by itself"},
    {"lstrip", used, "whether it takes spaces before it"},
    {"rstrip", used, "whether it takes spaces after it"},
    {"normalized", used, "whether it is looked for in normalized text"},
};

constexpr const char* kLoading = "how transformers loads it";
constexpr const char* kPadding = "of padding and cutting, which multicard does itself";
constexpr const char* kOfText = "tokens that tokenizer.json lacks are named";
constexpr const char* kSentencepiece = "of sentencepiece, which tokenizer.json replaces";
constexpr const char* kAroundText = "tokenizer.json decides; where it says otherwise, the difference is named";

// Harmless keys are listed, because every other key is reported: a key that nothing here knows may change ids.
// Configurations gain keys with each version of transformers.
constexpr ForeignKey kConfig[] = {
    {"bos_token", used, "begins a text"},
    {"eos_token", used, "ends a text"},
    {"chat_template", used, "the template of conversations"},
    {"added_tokens_decoder", used, "tokens that tokenizer.json lacks are named"},
    {"add_bos_token", used, kAroundText},
    {"add_eos_token", used, kAroundText},
    {"split_special_tokens", unsupported, "special tokens in a text as its characters"},
    {"clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output", named,
     "decoded text keeps spaces before punctuation"},
    {"clean_up_tokenization_spaces", harmless, "transformers ignores it for BPE"},
    {"add_prefix_space", harmless, "tokenizer.json has it"},
    {"unk_token", harmless, "tokenizer.json has it"},
    {"pad_token", harmless, "padding is never seen"},
    {"sep_token", harmless, kOfText},
    {"cls_token", harmless, kOfText},
    {"mask_token", harmless, kOfText},
    {"additional_special_tokens", harmless, kOfText},
    {"extra_special_tokens", harmless, kOfText},
    {"model_specific_special_tokens", harmless, kOfText},
    {"image_token", harmless, kOfText},
    {"audio_token", harmless, kOfText},
    {"video_token", harmless, kOfText},
    {"boi_token", harmless, kOfText},
    {"eoi_token", harmless, kOfText},
    {"pad_token_id", harmless, kPadding},
    {"model_max_length", harmless, kPadding},
    {"max_len", harmless, kPadding},
    {"max_length", harmless, kPadding},
    {"padding_side", harmless, kPadding},
    {"truncation_side", harmless, kPadding},
    {"truncation_strategy", harmless, kPadding},
    {"stride", harmless, kPadding},
    {"pad_to_multiple_of", harmless, kPadding},
    {"pad_token_type_id", harmless, kPadding},
    {"tokenizer_class", harmless, kLoading},
    {"processor_class", harmless, kLoading},
    {"tokenizer_file", harmless, kLoading},
    {"vocab_file", harmless, kLoading},
    {"merges_file", harmless, kLoading},
    {"name_or_path", harmless, kLoading},
    {"special_tokens_map_file", harmless, kLoading},
    {"model_input_names", harmless, kLoading},
    {"auto_map", harmless, kLoading},
    {"backend", harmless, kLoading},
    {"is_local", harmless, kLoading},
    {"local_files_only", harmless, kLoading},
    {"files_loaded", harmless, kLoading},
    {"from_slow", harmless, kLoading},
    {"use_fast", harmless, kLoading},
    {"transformers_version", harmless, kLoading},
    {"device_map", harmless, kLoading},
    {"trust_remote_code", harmless, kLoading},
    {"legacy", harmless, kSentencepiece},
    {"sp_model_kwargs", harmless, kSentencepiece},
    {"spaces_between_special_tokens", harmless, kSentencepiece},
    {"add_dummy_prefix_space", harmless, kSentencepiece},
    {"errors", harmless, "invalid bytes are replaced"},
    {"trim_offsets", harmless, "of places in a text, which are not needed"},
    {"use_default_system_prompt", harmless, "the template has it"},
    {"chat_control_tokens", harmless, "of texts that a user types"},
    {"response_template", harmless, "of answers with parts"},
    {"response_schema", harmless, "of answers with parts"},
};

constexpr ForeignKey kMap[] = {
    {"bos_token", used, "begins a text"},
    {"eos_token", used, "ends a text"},
    {"unk_token", harmless, "tokenizer.json has it"},
    {"pad_token", harmless, "padding is never seen"},
    {"sep_token", harmless, kOfText},
    {"cls_token", harmless, kOfText},
    {"mask_token", harmless, kOfText},
    {"additional_special_tokens", harmless, kOfText},
    {"extra_special_tokens", harmless, kOfText},
    {"image_token", harmless, kOfText},
    {"audio_token", harmless, kOfText},
    {"video_token", harmless, kOfText},
    {"boi_token", harmless, kOfText},
    {"eoi_token", harmless, kOfText},
};

// Indices into tokenizer_formats(), which is in the same order.
enum Format : std::size_t { kOfTokenizer, kOfModel, kOfStep, kOfAddedToken, kOfConfig, kOfMap };

class Remarks {
 public:
  explicit Remarks(const std::string& path) : path_(path) {}

  void add(const json& object, Format format, const std::string& prefix = "") {
    if (!object.is_object()) return;
    for (const std::string& remark : left_out(JsonReader(object, path_, prefix), formats_[format]))
      if (std::find(remarks_.begin(), remarks_.end(), remark) == remarks_.end()) remarks_.push_back(remark);
  }
  void add_steps(const json& step, const std::string& prefix) {
    add(step, kOfStep, prefix + ".");
    for (const char* list : {"normalizers", "pretokenizers", "processors", "decoders"})
      if (const json* steps = optional_member(step, list); steps && steps->is_array())
        for (const json& inner : *steps)
          add_steps(inner, prefix + "." + list);
  }
  std::vector<std::string> take() { return std::move(remarks_); }

 private:
  const std::string& path_;
  const std::vector<ForeignFormat> formats_ = tokenizer_formats();
  std::vector<std::string> remarks_;
};

}  // namespace

std::vector<ForeignFormat> tokenizer_formats() {
  return {{"tokenizer", "tokenizer.json", {kTokenizer}},
          {"tokenizer-model", "model of tokenizer.json", {kModel}},
          {"tokenizer-step", "steps of tokenizer.json", {kStep}},
          {"added-token", "added_tokens of tokenizer.json", {kAddedToken}},
          {"tokenizer-config", "tokenizer_config.json", {kConfig}},
          {"special-tokens-map", "special_tokens_map.json", {kMap}}};
}

std::vector<std::string> left_out_of_tokenizer(const json& file, const std::string& path) {
  Remarks remarks(path);
  remarks.add(file, kOfTokenizer);
  if (const json* model = optional_member(file, "model")) remarks.add(*model, kOfModel, "model.");
  for (const char* part : {"normalizer", "pre_tokenizer", "post_processor", "decoder"})
    if (const json* step = optional_member(file, part)) remarks.add_steps(*step, part);
  if (const json* tokens = optional_member(file, "added_tokens"); tokens && tokens->is_array())
    for (const json& token : *tokens)
      remarks.add(token, kOfAddedToken, "added_tokens.");
  return remarks.take();
}

std::vector<std::string> left_out_of_token_config(const json& config, const std::string& path) {
  Remarks remarks(path);
  remarks.add(config, kOfConfig);
  return remarks.take();
}

std::vector<std::string> left_out_of_token_map(const json& map, const std::string& path) {
  Remarks remarks(path);
  remarks.add(map, kOfMap);
  return remarks.take();
}

}  // namespace multicard
