#pragma once
/// \file What a tokenizer is made of, as the readers of the file formats put it together.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/AddedTokens.hpp"
#include "text/tokenizer/Bpe.hpp"
#include "text/tokenizer/Decoder.hpp"
#include "text/tokenizer/Normalizer.hpp"
#include "text/tokenizer/PreTokenizer.hpp"
#include "text/tokenizer/Vocabulary.hpp"

namespace multicard {

/// What the post-processor puts around a text.
struct AroundText {
  std::vector<TokenId> before, after;
};

struct TokenizerParts {
  std::string path, sha256;
  std::vector<AddedToken> added;
  Vocabulary texts;  ///< the model's tokens as the file spells them; empty where they are bytes (tiktoken)
  Bpe bpe;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  Decoder decoder;
  AroundText around;

  std::optional<TokenId> bos = {}, eos = {};
  std::vector<TokenId> end_ids = {};

  // Made from the above by finish().
  TokenFinder raw_finder = {}, normalized_finder = {};
  std::unordered_map<TokenId, const AddedToken*> added_by_id = {};
  std::unordered_map<std::string_view, const AddedToken*> added_by_text = {};
  std::size_t end_id = 0;

  /// The part of the constructor that needs the parts to have their final place.
  void finish();
};

/// From the bytes of a tokenizer.json.
std::unique_ptr<TokenizerParts> parts_of_json(std::string_view bytes, const std::string& path);

/// Whether a tiktoken file has the special tokens of Llama 3.
enum class TiktokenSpecials { none, llama3 };
/// From the bytes of a tiktoken file.
std::unique_ptr<TokenizerParts> parts_of_tiktoken(std::string_view bytes, const std::string& path,
                                                  TiktokenSpecials specials);

/// Fills bos, eos and end_ids from the files in `folder`.
void read_folder_tokens(TokenizerParts& parts, const std::string& folder);

}  // namespace multicard
