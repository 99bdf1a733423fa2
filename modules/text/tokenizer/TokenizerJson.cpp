// Reading tokenizer.json, the format of the tokenizers library.

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "io/JsonReader.hpp"
#include "text/tokenizer/TokenizerKeys.hpp"
#include "text/tokenizer/TokenizerParts.hpp"
#include "text/unicode/ByteAlphabet.hpp"

namespace multicard {

namespace {

using nlohmann::json;

const json& or_null(const json* value) {
  static const json null;
  return value ? *value : null;
}

void require_supported(const json& model) {
  const std::string what = "the model";
  const json* type = optional_member(model, "type");
  // Old files (GPT-2's) have no type; only BPE has merges.
  if (type ? *type != "BPE" : !optional_member(model, "merges"))
    throw DataError(fmt::format("a model of type {} is not supported", type ? type->dump() : "unknown"),
                    "multicard reads byte-pair encodings (BPE)");
  if (const json* dropout = optional_member(model, "dropout"); dropout && *dropout != 0)
    throw DataError("a model with dropout is not supported", "it would encode the same text differently every time");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const json* value = optional_member(model, key);
        value && (!value->is_string() || !value->get_ref<const std::string&>().empty()))
      throw DataError(fmt::format("\"{}\" {} is not supported", key, value->dump()));
}

Vocabulary read_vocabulary(const json& model) {
  const json& entries = member(model, "vocab", "the model");
  if (!entries.is_object()) throw DataError("\"vocab\" of the model is not a JSON object");
  Vocabulary texts;
  for (const auto& [text, id] : entries.items()) {
    const auto value = static_cast<TokenId>(
        count_of(id, Vocabulary::kLargestId, fmt::format("the id of the token {}", json(text).dump())));
    if (texts.has(value))
      throw DataError(fmt::format("two tokens have the id {}", value),
                      fmt::format("{} and {}", texts.text(value), text));
    texts.add(text, value);
  }
  return texts;
}

/// The two texts of a merge: a list of two, or one text with a space between.
std::pair<std::string, std::string> halves_of(const json& merge, std::size_t number) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  if (merge.is_string()) {
    // Before tokenizers 0.20 a merge was one text, and no token could hold a space. Two spaces would be ambiguous.
    const auto& text = merge.get_ref<const std::string&>();
    const std::size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos)
      return {text.substr(0, space), text.substr(space + 1)};
  }
  throw DataError(fmt::format("merge {} is not two texts", number), merge.dump().substr(0, 80));
}

TokenId id_in(const Vocabulary& texts, const std::string& text, std::size_t number) {
  if (const std::optional<TokenId> id = texts.find(text)) return *id;
  throw DataError(fmt::format("merge {} needs the token {}", number, json(text).dump()), "the vocabulary lacks it");
}

// The rank is the place in the list without comments. Of a pair that occurs twice the later rank counts, as in the map
// that the library fills in this order. Every product must be a token: otherwise merging would end nowhere.
MergeTable read_merges(const json& model, const Vocabulary& texts) {
  const json& merges = list_member(model, "merges", "the model");
  MergeTable table;
  table.reserve(merges.size());
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    if (merges[i].is_string() && merges[i].get_ref<const std::string&>().starts_with("#version")) continue;
    const auto [left, right] = halves_of(merges[i], i);
    table.set(id_in(texts, left, i), id_in(texts, right, i), {rank++, id_in(texts, left + right, i)});
  }
  return table;
}

/// The vocabulary by the bytes for which its tokens stand. A token that no bytes give is reached by none.
Vocabulary by_bytes(const Vocabulary& texts) {
  Vocabulary bytes;
  for (TokenId id = 0; id < texts.end_id(); ++id)
    if (texts.has(id))
      if (const std::optional<std::string> text = bytes_of_visible(texts.text(id))) bytes.add(*text, id);
  return bytes;
}

Bpe read_model(const json& model, const Vocabulary& texts, WordUnit unit) {
  BpeOptions options{unit};
  options.ignore_merges = flag_member(model, "ignore_merges", false, "the model");
  options.byte_fallback = flag_member(model, "byte_fallback", false, "the model");
  options.fuse_unknown = flag_member(model, "fuse_unk", false, "the model");
  if (optional_member(model, "unk_token")) {
    const std::string unknown = text_member(model, "unk_token", "the model");
    options.unknown = texts.find(unknown);
    if (!options.unknown) throw DataError(fmt::format("the unknown token {} is not in the vocabulary", unknown));
  }
  return Bpe(unit == WordUnit::bytes ? by_bytes(texts) : texts, read_merges(model, texts), options);
}

/// Warns of ids that the tokenizers library would not give. It ignores the file's ids of tokens that the vocabulary
/// lacks and numbers them one by one; the model may have been trained with either.
void warn_of_other_ids(const std::vector<AddedToken>& tokens, const Vocabulary& texts, std::size_t num_texts) {
  std::size_t next = num_texts;
  std::set<std::string_view> known;
  for (const AddedToken& token : tokens) {
    if (!known.insert(token.content).second) continue;
    if (!texts.find(token.content) && token.id != next)
      return log_warning(fmt::format(
          "the added token {} has the id {} in the file, but the tokenizers library gives it {}, the next free one: "
          "multicard uses the ids of the file, which will differ from the library's",
          json(token.content).dump(), token.id, next));
    next = std::max(next, token.id + std::size_t{1});
  }
}

std::vector<AddedToken> read_added_tokens(const json& file, const Vocabulary& texts) {
  constexpr std::size_t kLongest = 1024;
  std::vector<AddedToken> tokens;
  const json* list = optional_member(file, "added_tokens");
  if (!list) return tokens;
  if (!list->is_array()) throw DataError("\"added_tokens\" is not a list");
  for (const json& entry : *list) {
    AddedToken token;
    const std::string what = fmt::format("added token {}", tokens.size());
    token.content = text_member(entry, "content", what);
    token.id = static_cast<TokenId>(count_of(member(entry, "id", what), Vocabulary::kLargestId, "the id of " + what));
    token.is_special = flag_member(entry, "special", false, what);
    token.is_single_word = flag_member(entry, "single_word", false, what);
    token.strips_left = flag_member(entry, "lstrip", false, what);
    token.strips_right = flag_member(entry, "rstrip", false, what);
    // By default special tokens are looked for in the raw text: a normaliser that lowers or prepends must not hide
    // them.
    token.is_normalized = flag_member(entry, "normalized", !token.is_special, what);
    if (token.content.empty()) continue;  // as the library
    if (token.content.size() > kLongest) throw DataError(fmt::format("{} is longer than {} bytes", what, kLongest));
    const std::optional<TokenId> id = texts.find(token.content);
    if ((id && *id != token.id) || (!id && texts.has(token.id)))
      throw DataError(fmt::format("{} has the id {}", what, token.id), "the vocabulary has another for it");
    tokens.push_back(std::move(token));
  }
  return tokens;
}

TokenId processor_id(const json& value, const std::string& what) {
  return static_cast<TokenId>(count_of(value, Vocabulary::kLargestId, "an id of " + what));
}

void require_few(const AroundText& around) {
  if (around.before.size() + around.after.size() > kMostAround)
    throw DataError(fmt::format("the post-processor adds more than {} tokens to each text", kMostAround));
}

// "pair" describes two texts, which are never encoded together here. A special token may stand for several ids.
AroundText read_template(const json& processor, const std::string& what) {
  AroundText around;
  const json& specials = member(processor, "special_tokens", what);
  int num_texts = 0;
  for (const json& piece : list_member(processor, "single", what)) {
    if (const json* sequence = optional_member(piece, "Sequence")) {
      if (text_member(*sequence, "id", what) != "A" || ++num_texts > 1)
        throw DataError(fmt::format("{} does not hold one text A", what));
      continue;
    }
    const std::string name = text_member(member(piece, "SpecialToken", what), "id", what);
    const json& special = member(specials, name.c_str(), "\"special_tokens\" of " + what);
    for (const json& id : list_member(special, "ids", what))
      (num_texts == 0 ? around.before : around.after).push_back(processor_id(id, what));
    require_few(around);
  }
  if (num_texts == 0) throw DataError(fmt::format("{} does not hold one text A", what));
  return around;
}

AroundText read_bert(const json& processor, const std::string& what) {
  const auto id = [&](const char* key) {
    const json& pair = list_member(processor, key, what);
    if (pair.size() != 2) throw DataError(fmt::format("\"{}\" of {} is not a pair of a string and an id", key, what));
    return processor_id(pair[1], what);
  };
  return {{id("cls")}, {id("sep")}};
}

bool has_template(const json& processor) {
  const std::string type = type_of(processor, "the post-processor");
  if (type != "Sequence") return type == "TemplateProcessing";
  const json& steps = list_member(processor, "processors", "the post-processor");
  return std::any_of(steps.begin(), steps.end(), has_template);
}

// A Sequence applies one processor after the other, each around what the ones before it have made.
AroundText read_post_processor(const json& processor) {
  if (processor.is_null()) return {};
  const std::string type = type_of(processor, "the post-processor"), what = "the post-processor " + type;
  if (type == "ByteLevel") return {};
  if (type == "TemplateProcessing") return read_template(processor, what);
  if (type == "BertProcessing" || type == "RobertaProcessing") return read_bert(processor, what);
  if (type != "Sequence") throw DataError(fmt::format("{} is not supported", what));
  AroundText around;
  bool follows_template = false;
  for (const json& step : list_member(processor, "processors", what)) {
    const AroundText outer = read_post_processor(step);
    if (follows_template && type_of(step, what) != "ByteLevel")
      throw DataError(
          fmt::format("the post-processor {} after TemplateProcessing is not supported", type_of(step, what)),
          "the tokenizers library applies it to every token of the template as to a text");
    follows_template = follows_template || has_template(step);
    around.before.insert(around.before.begin(), outer.before.begin(), outer.before.end());
    around.after.insert(around.after.end(), outer.after.begin(), outer.after.end());
    require_few(around);
  }
  return around;
}

/// A step of a normalizer or pre-tokenizer, or one inside it, that `is_wanted`; null where there is none.
template <class Wanted>
const json* find_step(const json* step, Wanted&& is_wanted) {
  if (!step) return nullptr;
  if (is_wanted(*step)) return step;
  for (const char* key : {"normalizers", "pretokenizers"})
    if (const json* steps = optional_member(*step, key); steps && steps->is_array())
      for (const json& inner : *steps)
        if (const json* found = find_step(&inner, is_wanted)) return found;
  return nullptr;
}

/// The library gives a space to what stems from the first character of a text: not to what is left where a normalizer
/// took that away, and to each part where one made several characters of it that are split. Neither can be meant.
void require_plain_begin(const json& file) {
  const auto is = [](const json& step, const char* key, const json& value, const json& by_default) {
    const json* own = optional_member(step, key);
    return (own ? *own : by_default) == value;
  };
  const auto prepends_first = [&](const json& step) { return is(step, "prepend_scheme", "first", nullptr); };
  const auto may_take_begin = [&](const json& step) {
    return is(step, "type", "StripAccents", nullptr) ||
           (is(step, "type", "Strip", nullptr) && is(step, "strip_left", true, true)) ||
           (is(step, "type", "Replace", nullptr) && is(step, "content", "", nullptr));
  };
  const json* normalizer = optional_member(file, "normalizer");
  const json* pre_tokenizer = optional_member(file, "pre_tokenizer");
  if (!normalizer || !find_step(pre_tokenizer, prepends_first)) return;
  const json* cause = find_step(normalizer, may_take_begin);
  const json* first =
      find_step(pre_tokenizer, [](const json& step) { return !optional_member(step, "pretokenizers"); });
  if (!cause && !prepends_first(*first)) cause = first;
  if (cause)
    throw DataError(fmt::format("the pre-tokenizer Metaspace with the prepend_scheme first is not supported after {}",
                                type_of(*cause, "a step")),
                    "the normalizer and that step decide which parts of a text count as its beginning");
}

}  // namespace

std::unique_ptr<TokenizerParts> parts_of_json(std::string_view bytes, const std::string& path) {
  const json file = parse_json(bytes, "the file");
  warn_of(left_out_of_tokenizer(file, path));
  const json& model = member(file, "model", "the file");
  require_supported(model);
  require_plain_begin(file);
  PreTokenizer pre_tokenizer(or_null(optional_member(file, "pre_tokenizer")));
  Vocabulary texts = read_vocabulary(model);
  std::vector<AddedToken> added = read_added_tokens(file, texts);
  warn_of_other_ids(added, texts, model["vocab"].size());
  Bpe bpe = read_model(model, texts, pre_tokenizer.unit());
  return std::make_unique<TokenizerParts>(
      TokenizerParts{path, "", std::move(added), std::move(texts), std::move(bpe),
                     Normalizer(or_null(optional_member(file, "normalizer"))), std::move(pre_tokenizer),
                     Decoder(or_null(optional_member(file, "decoder"))),
                     read_post_processor(or_null(optional_member(file, "post_processor")))});
}

}  // namespace multicard
