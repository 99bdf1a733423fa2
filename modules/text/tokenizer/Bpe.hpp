#pragma once
/// \file Byte-pair encoding of words.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer/MergeTable.hpp"
#include "text/tokenizer/Vocabulary.hpp"

namespace multicard {

/// What words are made of: `bytes`, each of which the file writes as a visible character (GPT-2, Llama 3), or
/// `characters`.
enum class WordUnit { bytes, characters };

struct BpeOptions {
  WordUnit unit = WordUnit::bytes;
  bool ignore_merges = false;           ///< a word that is a token is not merged from its characters
  bool byte_fallback = false;           ///< unknown characters become tokens like <0x0A>, if all of theirs are there
  bool fuse_unknown = false;            ///< unknown characters in a row become one unknown token
  std::optional<TokenId> unknown = {};  ///< else unknown characters vanish
};

/// Splits words into tokens. Of WordUnit::bytes the words are raw bytes, and so are the texts in the vocabulary.
class Bpe {
 public:
  Bpe(Vocabulary vocabulary, MergeTable merges, BpeOptions options);

  void encode(std::string_view word, std::vector<TokenId>& out) const;
  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  class Units;

  void encode_units(std::string_view word, std::vector<TokenId>& out) const;
  bool encode_known_bytes(std::string_view word, std::vector<TokenId>& out) const;
  void append_character(std::string_view character, Units& units) const;
  void find_lasting_tokens();

  Vocabulary vocabulary_;
  MergeTable merges_;
  BpeOptions options_;
  std::vector<bool> lasts_;  ///< by id: a word that is this token becomes this token
  std::array<std::optional<TokenId>, 256> fallback_;
  std::array<std::optional<TokenId>, 256> single_;  ///< tokens of one byte
};

}  // namespace multicard
