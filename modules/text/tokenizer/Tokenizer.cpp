#include "text/tokenizer/Tokenizer.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/HubCache.hpp"
#include "base/Utf8.hpp"
#include "io/Bytes.hpp"
#include "io/Sha256.hpp"
#include "text/tokenizer/TokenAlignment.hpp"
#include "text/tokenizer/TokenizerParts.hpp"

namespace multicard {

namespace {

namespace fs = std::filesystem;
const char* const kJsonName = "tokenizer.json";
const char* const kModelName = "tokenizer.model";

class WordEncoder : public PartSink {
 public:
  WordEncoder(const Bpe& bpe, TextRoom& room, std::vector<TokenId>& out) : bpe_(bpe), room_(room), out_(out) {}
  void take(const TextPart& part) override {
    room_.take(part.text.size());
    bpe_.encode(part.text, out_);
  }

 private:
  const Bpe& bpe_;
  TextRoom& room_;
  std::vector<TokenId>& out_;
};

/// Where the tokens go, and which of them are marked.
struct Encoding {
  TextRoom normalized_room, words_room;
  std::vector<TokenId> ids = {};
  std::span<const TextRange> ranges = {};  ///< of the text
  std::vector<std::uint8_t>* marks = nullptr;
};

bool has_overlap(std::span<const TextRange> ranges, std::size_t begin, std::size_t end) {
  const auto range = first_after(ranges, begin);
  return range != ranges.end() && range->begin < end;
}

/// \param ranges of `part`
void encode_normalized(const TokenizerParts& parts, const TextPart& part, std::span<const TextRange> ranges,
                       Encoding& out) {
  WordEncoder words(parts.bpe, out.words_room, out.ids);
  for (const TextSegment& segment : split_at_tokens(part.text, parts.normalized_finder)) {
    const auto begin = static_cast<std::size_t>(segment.text.data() - part.text.data());
    const std::size_t num_before = out.ids.size();
    if (segment.token) {
      out.ids.push_back(segment.token->id);
      if (out.marks) out.marks->push_back(has_overlap(ranges, begin, begin + segment.text.size()) ? 1 : 0);
      continue;
    }
    parts.pre_tokenizer.split({segment.text, part.is_first && begin == 0}, words);
    if (!out.marks) continue;
    const std::vector<TextRange> inside = ranges_within(parts, segment.text, segment.text, begin, ranges);
    mark_tokens(parts, segment.text, std::span(out.ids).subspan(num_before), inside, *out.marks);
  }
}

// The order matters. Tokens with "normalized": false are looked for in the text as it came; what lies between them is
// normalised, and only there the other added tokens are looked for, as normalised themselves. Neither kind is found
// across the border of a token of the first kind.
void encode_raw(const TokenizerParts& parts, std::string_view text, Encoding& out) {
  for (const TextSegment& segment : split_at_tokens(text, parts.raw_finder)) {
    const auto begin = static_cast<std::size_t>(segment.text.data() - text.data());
    if (segment.token) {
      out.ids.push_back(segment.token->id);
      if (out.marks) out.marks->push_back(has_overlap(out.ranges, begin, begin + segment.text.size()) ? 1 : 0);
      continue;
    }
    std::string changed;
    if (!parts.normalizer.does_nothing()) changed = parts.normalizer(std::string(segment.text), out.normalized_room);
    const std::string_view normalized = parts.normalizer.does_nothing() ? segment.text : std::string_view(changed);
    std::vector<TextRange> ranges;
    if (out.marks) ranges = ranges_within(parts, segment.text, normalized, begin, out.ranges);
    encode_normalized(parts, {normalized, begin == 0}, ranges, out);
  }
}

// Two rooms: the normaliser and the steps after it may each make their part of the text longer.
Encoding encoding_of(std::string_view text) {
  return {TextRoom(text.size(), "the normalizer"), TextRoom(text.size(), "the pre-tokenizer")};
}

/// Names the file in what is wrong with it.
template <class Body>
auto naming(const std::string& path, Body&& body) {
  try {
    return body();
  } catch (const DataError& error) {
    throw DataError(fmt::format("{} cannot be used as a tokenizer: {}", path, error.problem()), error.why(),
                    error.suggestion());
  }
}

void encode_named(const TokenizerParts& parts, std::string_view text, Encoding& out) {
  naming(parts.path, [&] { encode_raw(parts, text, out); });
}

/// The text of a token as the file spells it; nothing for an unknown id.
std::optional<std::string_view> text_of(const TokenizerParts& parts, TokenId id) {
  if (const auto added = parts.added_by_id.find(id); added != parts.added_by_id.end()) return added->second->text;
  if (parts.texts.has(id)) return parts.texts.text(id);
  return std::nullopt;
}

/// Adds what a byte-level decoder makes of the token.
void append_bytes(const TokenizerParts& parts, TokenId id, std::string& bytes) {
  const Vocabulary& words = parts.bpe.vocabulary();
  // An added token that is in the vocabulary too may be spelt otherwise there.
  if (parts.pre_tokenizer.unit() == WordUnit::bytes && words.has(id) && !parts.added_by_id.contains(id)) {
    bytes += words.text(id);
  } else if (const std::optional<std::string_view> text = text_of(parts, id)) {
    bytes += bytes_of_token(*text);
  }
}

std::unique_ptr<TokenizerParts> read_parts(const std::string& path, bool in_folder) {
  const std::string bytes = read_file(path);
  // The content decides, not the name. JSON may begin with a byte order mark; a line of tiktoken is base64 and cannot
  // begin with a brace.
  const std::size_t begin = bytes.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const bool is_json = begin != std::string::npos && bytes[begin] == '{';
  std::unique_ptr<TokenizerParts> parts;
  naming(path, [&] {
    if (bytes.empty()) throw DataError("the file is empty");
    parts = is_json ? parts_of_json(bytes, path)
                    : parts_of_tiktoken(bytes, path, in_folder ? TiktokenSpecials::llama3 : TiktokenSpecials::none);
    parts->sha256 = sha256(bytes);
    parts->finish();
  });
  if (is_json || in_folder) read_folder_tokens(*parts, fs::path(path).parent_path().string());
  return parts;
}

}  // namespace

void TokenizerParts::finish() {
  end_id = std::max(texts.end_id(), bpe.vocabulary().end_id());
  std::set<std::string_view> specials;
  std::size_t bytes = 0;
  for (const AddedToken& token : added)
    bytes += token.content.size();
  TextRoom room(bytes, "the normalizer");
  for (const AddedToken& token : added)
    if (token.is_special) specials.insert(token.content);
  for (AddedToken& token : added) {
    const auto [other, is_new] = added_by_id.try_emplace(token.id, &token);
    if (!is_new && other->second->content != token.content)
      throw DataError(fmt::format("two added tokens have the id {}", token.id));
    if (!added_by_text.try_emplace(token.content, &token).second) continue;
    end_id = std::max<std::size_t>(end_id, token.id + std::size_t{1});
    token.text = token.is_normalized ? normalizer(token.content, room) : token.content;
    token.is_skipped = specials.contains(token.text);  // not when normalising changed it: so does the library
    // The finders keep pointers to tokens: `added` must not grow any more.
    (token.is_normalized ? normalized_finder : raw_finder).add(token.text, &token);
  }
  for (const std::vector<TokenId>* ids : {&around.before, &around.after})
    for (const TokenId id : *ids)
      if (id >= end_id) throw DataError(fmt::format("the post-processor adds the id {}, which no token has", id));
}

Tokenizer::Tokenizer(std::unique_ptr<const TokenizerParts> parts) : parts_(std::move(parts)) {}

Tokenizer::~Tokenizer() = default;

std::shared_ptr<const Tokenizer> Tokenizer::load(const std::string& path) {
  std::error_code unused;
  const bool in_folder = fs::is_directory(path, unused);
  if (!fs::exists(path, unused) && is_hub_name(path))
    throw DataError(fmt::format("{} holds no tokenizer", path), "it does not exist", suggest_fetching(path, ""));
  const std::optional<std::string> file = in_folder ? file_in(path) : path;
  if (!file)
    throw DataError(fmt::format("{} holds no tokenizer", path),
                    fmt::format("there is neither {} nor {}", kJsonName, kModelName));
  return std::shared_ptr<const Tokenizer>(new Tokenizer(read_parts(*file, in_folder)));
}

// A folder of Llama 3 may have both files: the JSON says more, and transformers reads it, too.
std::optional<std::string> Tokenizer::file_in(const std::string& folder) {
  std::error_code unused;
  for (const char* name : {kJsonName, kModelName})
    if (const fs::path file = fs::path(folder) / name; fs::exists(file, unused)) return file.string();
  return std::nullopt;
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, SpecialTokens special) const {
  constexpr std::size_t kLongest = std::size_t{1} << 31;
  if (text.size() >= kLongest)
    throw DataError("a text of 2 GiB or more cannot be encoded at once", "", "Split it into several.");
  Encoding encoding = encoding_of(text);
  if (special == SpecialTokens::add) encoding.ids = parts_->around.before;
  if (is_valid_utf8(text)) {
    encode_named(*parts_, text, encoding);
  } else {
    encode_named(*parts_, repaired_utf8(text), encoding);
  }
  const std::vector<TokenId>& after = parts_->around.after;
  if (special == SpecialTokens::add) encoding.ids.insert(encoding.ids.end(), after.begin(), after.end());
  return std::move(encoding.ids);
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, std::span<const TextRange> ranges,
                                       std::vector<std::uint8_t>& marks) const {
  if (!is_valid_utf8(text)) throw DataError("a text with marked parts is invalid UTF-8");
  Encoding encoding = encoding_of(text);
  encoding.ranges = ranges;
  encoding.marks = &marks;
  encode_named(*parts_, text, encoding);
  return std::move(encoding.ids);
}

// Bytes are repaired once for all ids, so that a character whose bytes are in several tokens comes out whole.
std::string Tokenizer::decode(std::span<const TokenId> ids, DecodeSpecial special) const {
  std::string bytes;
  Decoder::Tokens tokens;
  for (const TokenId id : ids) {
    if (special == DecodeSpecial::skip && is_special(id)) continue;
    if (parts_->decoder.is_byte_level()) {
      append_bytes(*parts_, id, bytes);
    } else if (const std::optional<std::string_view> text = text_of(*parts_, id)) {
      tokens.emplace_back(*text);
    }
  }
  if (parts_->decoder.is_byte_level()) return repaired_utf8(bytes);
  return naming(parts_->path, [&] { return parts_->decoder(std::move(tokens)); });
}

std::int64_t Tokenizer::vocabulary_size() const {
  return static_cast<std::int64_t>(parts_->end_id);
}

// Added tokens come first: the library, too, looks a text up there before it asks the model.
std::optional<TokenId> Tokenizer::id_of(std::string_view token) const {
  if (const auto added = parts_->added_by_text.find(token); added != parts_->added_by_text.end())
    return added->second->id;
  const bool is_spelt_in_bytes = parts_->texts.end_id() == 0;
  return (is_spelt_in_bytes ? parts_->bpe.vocabulary() : parts_->texts).find(token);
}

bool Tokenizer::is_special(TokenId id) const {
  const auto added = parts_->added_by_id.find(id);
  return added != parts_->added_by_id.end() && added->second->is_skipped;
}

std::optional<TokenId> Tokenizer::bos() const {
  return parts_->bos;
}
std::optional<TokenId> Tokenizer::eos() const {
  return parts_->eos;
}
const std::vector<TokenId>& Tokenizer::end_ids() const {
  return parts_->end_ids;
}

bool Tokenizer::adds_bos() const {
  return parts_->bos && !parts_->around.before.empty() && parts_->around.before.front() == *parts_->bos;
}

const std::string& Tokenizer::sha256() const {
  return parts_->sha256;
}
const std::string& Tokenizer::path() const {
  return parts_->path;
}

}  // namespace multicard
