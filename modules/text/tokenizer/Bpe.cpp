#include "text/tokenizer/Bpe.hpp"

#include <array>

#include <fmt/format.h>

#include "base/Utf8.hpp"

namespace multicard {

namespace {

std::uint8_t byte_of(char character) {
  return static_cast<std::uint8_t>(character);
}

}  // namespace

/// The tokens of a word before merging; an unknown one waits, because the next may join it.
class Bpe::Units {
 public:
  explicit Units(const BpeOptions& options) : options_(options) {}

  void add(TokenId token) {
    flush();
    tokens_.push_back(token);
  }
  /// A byte of a character that has no token. It overtakes a waiting unknown one: so does the library.
  void add_fallback(TokenId token) { tokens_.push_back(token); }
  void add_unknown() {
    if (!options_.unknown) return;
    if (!options_.fuse_unknown) flush();
    is_waiting_ = true;
  }
  const std::vector<TokenId>& finish() {
    flush();
    return tokens_;
  }

 private:
  void flush() {
    if (is_waiting_) tokens_.push_back(*options_.unknown);
    is_waiting_ = false;
  }

  const BpeOptions& options_;
  std::vector<TokenId> tokens_;
  bool is_waiting_ = false;
};

Bpe::Bpe(Vocabulary vocabulary, MergeTable merges, BpeOptions options)
    : vocabulary_(std::move(vocabulary)), merges_(std::move(merges)), options_(options) {
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    // Byte tokens are written in capital digits, <0x0A>, as sentencepiece names them.
    single_[byte] = vocabulary_.find({&text, 1});
    if (options_.byte_fallback) fallback_[byte] = vocabulary_.find(fmt::format("<0x{:02X}>", byte));
  }
  find_lasting_tokens();
}

// A word that is a token is not always what merging makes of it: a token may be reachable only by another order of
// merges, or by none. It is taken whole where merging leads to it, or where the file says that merges are ignored.
void Bpe::encode(std::string_view word, std::vector<TokenId>& out) const {
  if (const std::optional<TokenId> id = vocabulary_.find(word); id && lasts_[*id]) return out.push_back(*id);
  encode_units(word, out);
}

/// Short words of known bytes, which is nearly all there is, without a buffer on the heap.
bool Bpe::encode_known_bytes(std::string_view word, std::vector<TokenId>& out) const {
  std::array<TokenId, 64> tokens;
  if (word.size() > tokens.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const std::optional<TokenId>& token = single_[byte_of(word[i])];
    if (!token) return false;
    tokens[i] = *token;
  }
  merges_.merge({tokens.data(), word.size()}, out);
  return true;
}

void Bpe::encode_units(std::string_view word, std::vector<TokenId>& out) const {
  if (options_.unit == WordUnit::bytes && encode_known_bytes(word, out)) return;
  Units units(options_);
  if (options_.unit == WordUnit::bytes) {
    for (std::size_t i = 0; i < word.size(); ++i)
      append_character(word.substr(i, 1), units);
  } else {
    for (std::size_t i = 0; i < word.size();) {
      const std::size_t length = std::min(utf8_length(word[i]), word.size() - i);
      append_character(word.substr(i, length), units);
      i += length;
    }
  }
  merges_.merge(units.finish(), out);
}

void Bpe::append_character(std::string_view character, Units& units) const {
  const std::optional<TokenId> id =
      character.size() == 1 ? single_[byte_of(character[0])] : vocabulary_.find(character);
  if (id) return units.add(*id);
  // All bytes of a character or none, as in the library: a vocabulary may lack some byte tokens, and half a character
  // would be worse than an unknown one.
  if (options_.byte_fallback && options_.unit == WordUnit::characters) {
    bool all = true;
    for (const char byte : character)
      all = all && fallback_[byte_of(byte)];
    if (all) {
      for (const char byte : character)
        units.add_fallback(*fallback_[byte_of(byte)]);
      return;
    }
  }
  units.add_unknown();
}

/// Most words of a text are tokens that merging arrives at anyway. Which these are is found out once, so that encoding
/// them takes a look-up and no cache that threads would have to share.
void Bpe::find_lasting_tokens() {
  lasts_.assign(vocabulary_.end_id(), options_.ignore_merges);
  if (options_.ignore_merges) return;
  std::vector<TokenId> tokens;
  for (TokenId id = 0; id < vocabulary_.end_id(); ++id) {
    if (!vocabulary_.has(id)) continue;
    tokens.clear();
    encode_units(vocabulary_.text(id), tokens);
    lasts_[id] = tokens.size() == 1 && tokens[0] == id;
  }
}

}  // namespace multicard
