#pragma once
// A tokenizer whose ids a person can compute: every byte is a token with its own value.

#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "unit/data/test_tokens.hpp"

namespace multicard::test {

inline constexpr std::uint32_t kBos = 256, kEos = 257, kImStart = 258, kImEnd = 259;

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// The character that byte-level tokenizers write for a byte.
inline std::string byte_level(int byte) {
  int next = 256, character = 0;
  for (int b = 0; b <= byte; ++b) {
    const bool is_visible = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || (b >= 0xae && b <= 0xff);
    character = is_visible ? b : next++;
  }
  if (character < 0x80) return {static_cast<char>(character)};
  return {static_cast<char>(0xc0 | (character >> 6)), static_cast<char>(0x80 | (character & 0x3f))};
}

/// A model folder: no merges, four special tokens, BOS is added.
inline void write_byte_tokenizer(const std::string& folder) {
  using nlohmann::json;
  std::filesystem::create_directories(folder);
  json vocabulary = json::object(), added = json::array();
  for (int byte = 0; byte < 256; ++byte)
    vocabulary[byte_level(byte)] = byte;
  const char* const names[] = {"<s>", "</s>", "<|im_start|>", "<|im_end|>"};
  for (std::uint32_t i = 0; i < 4; ++i)
    added.push_back({{"id", kBos + i},
                     {"content", names[i]},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  const json byte_steps = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  const json bos = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  const json sequence = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const json pair = {{"Sequence", {{"id", "B"}, {"type_id", 0}}}};
  const json tokenizer = {{"version", "1.0"},
                          {"truncation", nullptr},
                          {"padding", nullptr},
                          {"added_tokens", added},
                          {"normalizer", nullptr},
                          {"pre_tokenizer", byte_steps},
                          {"post_processor",
                           {{"type", "TemplateProcessing"},
                            {"single", {bos, sequence}},
                            {"pair", {bos, sequence, pair}},
                            {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {kBos}}, {"tokens", {"<s>"}}}}}}}},
                          {"decoder", byte_steps},
                          {"model",
                           {{"type", "BPE"},
                            {"dropout", nullptr},
                            {"unk_token", nullptr},
                            {"continuing_subword_prefix", nullptr},
                            {"end_of_word_suffix", nullptr},
                            {"fuse_unk", false},
                            {"byte_fallback", false},
                            {"ignore_merges", false},
                            {"vocab", vocabulary},
                            {"merges", json::array()}}}};
  write_text(folder + "/tokenizer.json", tokenizer.dump());
  write_text(folder + "/tokenizer_config.json",
             json{{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"add_bos_token", true}}.dump());
}

/// The sequence as text, targets in double brackets: "<s>2+2=[[4</s>]]".
inline std::string shown(const Sequence& sequence) {
  std::string text;
  bool in_target = false;
  for (std::size_t i = 0; i < sequence.tokens.size(); ++i) {
    if ((sequence.loss_mask[i] == 1) != in_target) text += in_target ? "]]" : "[[";
    in_target = sequence.loss_mask[i] == 1;
    switch (const std::uint32_t id = sequence.tokens[i]) {
      case kBos:
        text += "<s>";
        break;
      case kEos:
        text += "</s>";
        break;
      case kImStart:
        text += "<|im_start|>";
        break;
      case kImEnd:
        text += "<|im_end|>";
        break;
      default:
        text += static_cast<char>(id);
    }
  }
  return in_target ? text + "]]" : text;
}

inline std::vector<std::string> shown(const std::vector<Sequence>& sequences) {
  std::vector<std::string> texts;
  for (const Sequence& sequence : sequences)
    texts.push_back(shown(sequence));
  return texts;
}

}  // namespace multicard::test
