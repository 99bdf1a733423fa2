#include "prepare/records/RecordEncoder.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/Utf8.hpp"
#include "io/JsonReader.hpp"
#include "prepare/records/Conversation.hpp"
#include "prepare/records/MessageFields.hpp"
#include "prepare/records/RecordFields.hpp"
#include "prepare/records/RecordPieces.hpp"

namespace multicard {

namespace {

using json = nlohmann::ordered_json;

/// A label that is not trained on.
constexpr std::int64_t kIgnored = -100;
/// Larger vocabularies do not exist; a damaged file would have larger ids.
constexpr std::uint64_t kLargestId = (std::uint64_t{1} << 31) - 1;

/// \throws DataError where a mask leaves out tokens
void require_no_padding(const json& record, const std::string& key, const std::string& what) {
  if (!optional_member(record, key.c_str())) return;
  const json& mask = list_member(record, key.c_str(), what);
  if (std::any_of(mask.begin(), mask.end(), [](const json& one) { return one != 1 && one != true; }))
    throw DataError(fmt::format("\"{}\" of {} leaves out tokens", key, what),
                    "rows are not padded, and every token sees all before it", "Take such tokens out.");
}

/// \throws DataError unless positions are those in the text: 0, 1, 2 and so on
void require_own_positions(const json& record, const std::string& key, const std::string& what) {
  if (!optional_member(record, key.c_str())) return;
  const json& positions = list_member(record, key.c_str(), what);
  for (std::size_t i = 0; i < positions.size(); ++i)
    if (positions[i] != i)
      throw DataError(fmt::format("\"{}\"[{}] of {} is {}", key, i, what, positions[i].dump()),
                      "a token's position is its place in the record, from 0",
                      "Write several texts in one record as several records.");
}

/// Tokens from a list of ids and one of labels, each its own id or -100. Labels follow the convention of transformers:
/// equal to the input ids, not shifted, with -100 where a token does not count. A label that is another token would be
/// a different task.
EncodedText read_ids(const json& record, const std::string& prefix, const std::string& what) {
  const std::string ids_key = prefix + "input_ids", labels_key = prefix + "labels";
  const json& ids = list_member(record, ids_key.c_str(), what);
  const json& labels = list_member(record, labels_key.c_str(), what);
  if (ids.size() != labels.size())
    throw DataError(
        fmt::format("{} has {} \"{}\" and {} \"{}\"", what, ids.size(), ids_key, labels.size(), labels_key));
  require_no_padding(record, prefix + "attention_mask", what);
  require_own_positions(record, prefix + "position_ids", what);
  EncodedText row;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::uint64_t id = count_of(ids[i], kLargestId, fmt::format("\"{}\"[{}] of {}", ids_key, i, what));
    if (labels[i] != kIgnored && labels[i] != id)
      throw DataError(fmt::format("\"{}\"[{}] of {} is {}", labels_key, i, what, labels[i].dump()),
                      fmt::format("a label is its own input id ({}) or -100", id));
    row.ids.push_back(static_cast<TokenId>(id));
    row.loss_mask.push_back(labels[i] == kIgnored ? 0 : 1);
  }
  return row;
}

void read_token_record(const json& record, const std::string& what, EncodedRecord& encoded) {
  const bool is_pair = optional_member(record, "chosen_input_ids") != nullptr;
  encoded.sequence = read_ids(record, is_pair ? "chosen_" : "", what);
  if (is_pair) encoded.rejected = read_ids(record, "rejected_", what);
}

// Nothing is before the first token from which it could be predicted.
void unmask_first(EncodedText& row) {
  if (!row.loss_mask.empty()) row.loss_mask.front() = 0;
}

/// What templates and tokenizers object to, with the record in which they found it.
template <class Body>
auto with_name(const std::string& name, Body&& body) {
  try {
    return body();
  } catch (const DataError& error) {
    if (error.problem().find(name) != std::string::npos) throw;
    throw DataError(fmt::format("{}: {}", name, error.problem()), error.why(), error.suggestion());
  }
}

}  // namespace

// The order matters: a preference record often has a prompt too, and a chat record a text.
std::optional<DatasetType> likely_other_type(const std::string& text, DatasetType type) {
  struct Mark {
    DatasetType type;
    const char *one, *other;  ///< members that its records have
  };
  constexpr std::array kMarks{
      Mark{DatasetType::preference, "chosen", "rejected"},
      Mark{DatasetType::chat, "messages", "messages"},
      Mark{DatasetType::chat, "conversations", "conversations"},
      Mark{DatasetType::alpaca, "instruction", "output"},
      Mark{DatasetType::prompt_completion, "prompt", "completion"},
      Mark{DatasetType::question_answer, "question", "answer"},
      Mark{DatasetType::tokens, "input_ids", "labels"},
      Mark{DatasetType::text, "text", "text"},
  };
  const std::optional<json> record = [&]() -> std::optional<json> {
    try {
      return parse_ordered_json(text, "");
    } catch (const DataError&) {
      return std::nullopt;
    }
  }();
  if (!record) return std::nullopt;
  const auto has = [&](const Mark& mark) {
    return optional_member(*record, mark.one) && optional_member(*record, mark.other);
  };
  if (std::any_of(kMarks.begin(), kMarks.end(), [&](const Mark& mark) { return mark.type == type && has(mark); }))
    return std::nullopt;
  const auto other = std::find_if(kMarks.begin(), kMarks.end(), has);
  return other == kMarks.end() ? std::nullopt : std::optional(other->type);
}

RecordEncoder::RecordEncoder(DatasetType type, std::shared_ptr<const Tokenizer> tokenizer,
                             std::optional<PromptTemplate> prompt_template, LossOn loss)
    : type_(type), tokenizer_(std::move(tokenizer)), template_(std::move(prompt_template)), loss_(loss) {
  writes_reasoning_ = template_ && (template_->uses("reasoning_content") || template_->uses("thinking"));
  const bool needs_eos = template_ ? template_->completion_needs_eos() : type_ == DatasetType::text;
  if (needs_eos && !tokenizer_->eos())
    throw DataError(
        fmt::format("the tokenizer {} names no end-of-text token", tokenizer_->path()),
        template_ ? fmt::format("template {} ends every answer with it", template_->name()) : "every text ends with it",
        "Give the model's folder instead of the tokenizer's file.");
}

EncodedRecord RecordEncoder::encode_json(const std::string& text, const std::string& name) const {
  return with_name(name, [&] { return encode_record(text, name); });
}

EncodedRecord RecordEncoder::encode_record(const std::string& text, const std::string& name) const {
  json record = parse_ordered_json(text, name);
  if (map_) map_->apply(record);
  EncodedRecord encoded = {};
  encoded.unknown_fields = unknown_fields(record, type_, name);
  for (const std::string& field : unknown_message_fields(record, name))
    if (!template_ || !template_->uses(field)) encoded.unknown_fields.push_back("messages." + field);
  switch (type_) {
    case DatasetType::alpaca:
      encoded.sequence = encode(alpaca_pieces(record, *template_, name));
      break;
    case DatasetType::chat:
      encoded.sequence = encode(chat_pieces(record, *template_, name));
      break;
    case DatasetType::prompt_completion:
      encoded.sequence = encode(completion_pieces(record, *template_, name));
      break;
    case DatasetType::question_answer:
      encoded.sequence = encode(answer_pieces(record, *template_, name));
      break;
    case DatasetType::text:
      encoded.sequence = encode(plain_pieces(text_member(record, "text", name)));
      break;
    case DatasetType::preference: {
      const PiecePair pair = preference_pieces(record, *template_, name);
      encoded.sequence = encode(pair.chosen);
      encoded.rejected = encode(pair.rejected);
      break;
    }
    case DatasetType::tokens:
      read_token_record(record, name, encoded);
      break;
  }
  unmask_first(encoded.sequence);
  if (encoded.rejected) unmask_first(*encoded.rejected);
  encoded.drops_reasoning = template_ && !writes_reasoning_ && has_reasoning(record);
  return encoded;
}

EncodedRecord RecordEncoder::encode_text(const std::string& text, const std::string& name) const {
  if (!is_valid_utf8(text)) throw DataError(fmt::format("{} is not UTF-8 text", name));
  EncodedRecord encoded;
  encoded.sequence = encode(plain_pieces(text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0)));
  unmask_first(encoded.sequence);
  return encoded;
}

EncodedText RecordEncoder::encode(const std::vector<TextPiece>& pieces) const {
  EncodedText row = encode_pieces(*tokenizer_, pieces);
  // Of a conversation this also trains on the prompts and on the template's own tokens.
  if (loss_ == LossOn::all) std::fill(row.loss_mask.begin(), row.loss_mask.end(), std::uint8_t{1});
  return row;
}

}  // namespace multicard
