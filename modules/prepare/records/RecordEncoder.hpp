#pragma once
/// \file From the records of a text data set to tokens.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/shards/DatasetType.hpp"
#include "prepare/records/RecordMap.hpp"
#include "text/prompts/PromptTemplate.hpp"
#include "text/tokenizer/Tokenizer.hpp"

namespace multicard {

/// What one record becomes: a sequence, or a pair of them.
struct EncodedRecord {
  EncodedText sequence;                          ///< of a pair the chosen one
  std::optional<EncodedText> rejected;           ///< of a preference pair
  bool drops_reasoning = false;                  ///< it has reasoning that the template does not write
  std::vector<std::string> unknown_fields = {};  ///< its fields that nothing is known of (RecordFields.hpp)
};

/// The type whose members a record has, if it is JSON that has any type's and not those of `type`.
std::optional<DatasetType> likely_other_type(const std::string& json, DatasetType type);

/// Encodes records of one type, see docs/data.md for their layouts. Any thread.
class RecordEncoder {
 public:
  /// `tokenizer` may be null for DatasetType::tokens, `prompt_template` is needed by all types but text and tokens.
  /// \throws DataError if the tokenizer lacks the EOS that every answer needs.
  RecordEncoder(DatasetType type, std::shared_ptr<const Tokenizer> tokenizer,
                std::optional<PromptTemplate> prompt_template, LossOn loss);

  /// Renames the members of every record first.
  void use(std::shared_ptr<RecordMap> map) { map_ = std::move(map); }

  /// A record as JSON. `name` says what it is in errors. The first token of a sequence is never a target.
  /// \throws DataError naming it for anything that is not a record of this type.
  EncodedRecord encode_json(const std::string& json, const std::string& name) const;
  /// The contents of a plain file, for DatasetType::text.
  EncodedRecord encode_text(const std::string& text, const std::string& name) const;

 private:
  EncodedRecord encode_record(const std::string& json, const std::string& name) const;
  EncodedText encode(const std::vector<TextPiece>& pieces) const;

  DatasetType type_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::optional<PromptTemplate> template_;
  LossOn loss_;
  std::shared_ptr<RecordMap> map_;  ///< null: none
  bool writes_reasoning_ = false;
};

}  // namespace multicard
