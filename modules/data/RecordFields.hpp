#pragma once
/// \file What is known of the fields of records: which are read, which say nothing of the text, and which would be
/// lost.

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "data/DatasetType.hpp"

namespace multicard {

enum class FieldUse {
  used,         ///< it becomes part of the text, or says how
  harmless,     ///< it tells of the record, and no program trains on it
  unsupported,  ///< others train on it: a record that has it would be read with another meaning
};

struct RecordField {
  const char* name;
  FieldUse use;
  const char* note;  ///< what it is, or what would be lost
};

/// The fields that records of a type may have, but for those of all types.
std::span<const RecordField> fields_of(DatasetType type);
/// Those that records of any type may have.
std::span<const RecordField> common_fields();

/// Names of fields that are not empty and in none of the lists, in the record's order. `what` names the record.
/// \throws DataError naming a field that is not supported, unless it is empty
std::vector<std::string> unknown_fields(const nlohmann::ordered_json& record, DatasetType type,
                                        const std::string& what);

}  // namespace multicard
