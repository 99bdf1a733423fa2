#pragma once
/// \file What is known of the fields of records: which are read, which say nothing of the text, and which would be
/// lost.

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "data/shards/DatasetType.hpp"
#include "io/ForeignFormat.hpp"

namespace multicard {

/// The fields that records of a type may have, but for those of all types.
std::span<const ForeignKey> fields_of(DatasetType type);
/// All of them, as `multicard help formats` and docs/data.md show them: "alpaca", "chat" and so on, then "record".
std::vector<ForeignFormat> record_formats();

/// Names of fields that are not empty and in none of the lists, in the record's order. `what` names the record.
/// \throws DataError naming a field that is not supported, unless it is empty
std::vector<std::string> unknown_fields(const nlohmann::ordered_json& record, DatasetType type,
                                        const std::string& what);

}  // namespace multicard
