#pragma once
/// \file What is known of the members of messages in records.

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "io/ForeignFormat.hpp"

namespace multicard {

/// The members that messages may have.
std::span<const ForeignKey> message_fields();

/// Names of members that are not empty and not in the list, each once, of all messages of a record: those in its lists,
/// and a message that stands in it alone. A template may use them. `what` names the record. \throws DataError naming a
/// member that is not supported, unless it is empty
std::vector<std::string> unknown_message_fields(const nlohmann::ordered_json& record, const std::string& what);

}  // namespace multicard
