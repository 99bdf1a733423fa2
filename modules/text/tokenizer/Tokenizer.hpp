#pragma once
/// \file Text to token ids and back, from the tokenizer file of a Hugging Face model folder or a tiktoken file.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/unicode/TextRange.hpp"

namespace multicard {

using TokenId = std::uint32_t;

/// Whether encoding adds what the file's post-processor adds (BOS, sometimes EOS). Special tokens that are written in
/// the text are recognised either way.
enum class SpecialTokens { add, leave_out };
/// Whether special tokens stand in the decoded text.
enum class DecodeSpecial { keep, skip };

struct TokenizerParts;

/// A byte-pair-encoding tokenizer; ids and texts are those of Hugging Face's tokenizers library (docs/tokenizers.md).
/// Immutable: any number of threads may use one.
class Tokenizer {
 public:
  /// `path` is a model folder (its tokenizer.json, else its tiktoken tokenizer.model), or one of these files. A bare
  /// tiktoken file has no special tokens; in a folder it has the 256 of Llama 3. What cannot be read exactly as the
  /// library reads it (another kind of model, an unknown step, a damaged file) is a DataError naming it.
  static std::shared_ptr<const Tokenizer> load(const std::string& path);
  /// The file that load() would read for a model folder, if it has one.
  static std::optional<std::string> file_in(const std::string& folder);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// Invalid UTF-8 in `text` is read as U+FFFD, one for each maximal broken part. Texts of 2 GiB and more are a
  /// DataError.
  std::vector<TokenId> encode(std::string_view text, SpecialTokens special) const;
  /// The same for valid UTF-8, without what the post-processor adds. \param marks gets a 1 for each token with a
  /// character in one of `ranges` (ascending, apart), else a 0
  std::vector<TokenId> encode(std::string_view text, std::span<const TextRange> ranges,
                              std::vector<std::uint8_t>& marks) const;
  /// Valid UTF-8: bytes that form no character become U+FFFD. Unknown ids give no text.
  std::string decode(std::span<const TokenId> ids, DecodeSpecial special) const;

  /// One more than the largest id.
  std::int64_t vocabulary_size() const;
  /// The id of the token with exactly this text as the file spells it (byte-level: "Ġthe"); added tokens included.
  std::optional<TokenId> id_of(std::string_view token) const;
  /// Whether `skip` leaves it out when decoding.
  bool is_special(TokenId id) const;

  /// As the folder's other files say (tokenizer_config.json, config.json, generation_config.json, in this order; the
  /// first of a list), else a begin token that the post-processor adds.
  std::optional<TokenId> bos() const;
  /// From the same files as bos().
  std::optional<TokenId> eos() const;
  /// Every id at which generation ends: eos() and the lists of config.json and generation_config.json.
  const std::vector<TokenId>& end_ids() const;
  /// Whether encode(..., SpecialTokens::add) puts bos() first.
  bool adds_bos() const;

  /// SHA-256 of the tokenizer file's bytes, 64 hexadecimal digits.
  const std::string& sha256() const;
  /// The file that was read.
  const std::string& path() const;

 private:
  explicit Tokenizer(std::unique_ptr<const TokenizerParts> parts);

  std::unique_ptr<const TokenizerParts> parts_;
};

}  // namespace multicard
