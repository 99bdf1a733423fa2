// Reading tiktoken files: a line for each token, its bytes in base64 and its rank.

#include <array>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "text/tokenizer/TokenizerParts.hpp"

namespace multicard {

namespace {

// The file has ranks and nothing else: the pattern and the special tokens are part of each model's program. These are
// Llama 3's (tokenizer.py); the file of another family would need its own.
const char* const kLlama3Pattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+"
    "|\\s+(?!\\S)|\\s+";
constexpr int kNumSpecials = 256;

std::optional<int> base64_digit(char character) {
  if (character >= 'A' && character <= 'Z') return character - 'A';
  if (character >= 'a' && character <= 'z') return character - 'a' + 26;
  if (character >= '0' && character <= '9') return character - '0' + 52;
  if (character == '+') return 62;
  if (character == '/') return 63;
  return std::nullopt;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  while (text.ends_with('='))
    text.remove_suffix(1);
  std::string bytes;
  std::uint32_t bits = 0;
  int num_bits = 0;
  for (const char character : text) {
    const std::optional<int> digit = base64_digit(character);
    if (!digit) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(*digit);
    num_bits += 6;
    if (num_bits < 8) continue;
    num_bits -= 8;
    bytes += static_cast<char>(static_cast<std::uint8_t>(bits >> num_bits));
  }
  return bytes;
}

// tokenizer.model is also the name of sentencepiece's protobuf (Llama 2, Mistral). Its first bytes are no line of this
// kind, which is where users of such a folder learn what to do.
void add_line(Vocabulary& tokens, std::string_view line, std::size_t number) {
  const std::size_t space = line.find(' ');
  const std::optional<std::string> token = from_base64(line.substr(0, space));
  TokenId rank = 0;
  const char* const end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data() + std::min(space, line.size() - 1) + 1, end, rank);
  if (space == std::string_view::npos || !token || error != std::errc() || stop != end)
    throw DataError(fmt::format("line {} is not a token in base64 and its rank", number), "",
                    "A sentencepiece model cannot be read: put the model's tokenizer.json in the same folder.");
  if (rank > Vocabulary::kLargestId || !tokens.add(*token, rank))
    throw DataError(fmt::format("line {} repeats a token or a rank, or has one out of range", number));
}

Vocabulary read_tokens(std::string_view bytes) {
  Vocabulary tokens;
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < bytes.size(); ++number) {
    const std::size_t end = std::min(bytes.find('\n', begin), bytes.size());
    std::string_view line = bytes.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) add_line(tokens, line, number);
    begin = end + 1;
  }
  // With every byte a token nothing is unknown, and any bytes can be encoded.
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    if (!tokens.find({&text, 1})) throw DataError(fmt::format("the byte {} has no token", byte));
  }
  return tokens;
}

/// Two tokens merge when together they are a token, and its rank is the merge's.
MergeTable merges_of(const Vocabulary& tokens) {
  // tiktoken has no list of merges: it joins any two neighbours whose bytes together are a token. A long token
  // therefore has several pairs that lead to it, all of one rank.
  MergeTable merges;
  for (TokenId id = 0; id < tokens.end_id(); ++id) {
    const std::string_view text = tokens.text(id);
    for (std::size_t i = 1; i < text.size(); ++i) {
      const std::optional<TokenId> left = tokens.find(text.substr(0, i)), right = tokens.find(text.substr(i));
      if (left && right) merges.set(*left, *right, {id, id});
    }
  }
  return merges;
}

// Their ids follow the last rank, in this order. Llama 3.1 gave names to some of 3's reserved tokens; the numbers of
// the others moved.
std::vector<AddedToken> llama3_specials(TokenId first) {
  static constexpr std::array<const char*, 11> kNamed{"begin_of_text",
                                                      "end_of_text",
                                                      "reserved_special_token_0",
                                                      "reserved_special_token_1",
                                                      "finetune_right_pad_id",
                                                      "step_id",
                                                      "start_header_id",
                                                      "end_header_id",
                                                      "eom_id",
                                                      "eot_id",
                                                      "python_tag"};
  std::vector<AddedToken> tokens;
  for (int i = 0; i < kNumSpecials; ++i) {
    const int named = static_cast<int>(kNamed.size());
    AddedToken token;
    token.id = first + static_cast<TokenId>(i);
    token.content =
        i < named ? fmt::format("<|{}|>", kNamed[i]) : fmt::format("<|reserved_special_token_{}|>", i - named + 2);
    token.is_special = true;
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace

std::unique_ptr<TokenizerParts> parts_of_tiktoken(std::string_view bytes, const std::string& path,
                                                  TiktokenSpecials specials) {
  Vocabulary tokens = read_tokens(bytes);
  const auto first_special = static_cast<TokenId>(tokens.end_id());
  MergeTable merges = merges_of(tokens);
  BpeOptions options{WordUnit::bytes};
  // tiktoken looks a word up as a whole before it merges.
  options.ignore_merges = true;
  std::vector<AddedToken> added;
  AroundText around;
  if (specials == TiktokenSpecials::llama3) {
    added = llama3_specials(first_special);
    around.before = {first_special};
  }
  auto parts = std::make_unique<TokenizerParts>(TokenizerParts{path,
                                                               "",
                                                               std::move(added),
                                                               {},
                                                               Bpe(std::move(tokens), std::move(merges), options),
                                                               Normalizer(nullptr),
                                                               PreTokenizer::of_pattern(kLlama3Pattern),
                                                               Decoder(nlohmann::json{{"type", "ByteLevel"}}),
                                                               around});
  if (specials == TiktokenSpecials::llama3) parts->eos = first_special + 1;
  return parts;
}

}  // namespace multicard
