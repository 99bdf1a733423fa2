#include "nn/language/ConfigReading.hpp"

#include <nlohmann/json.hpp>

namespace multicard {

std::int64_t ConfigReader::whole(const std::string& key, std::optional<std::int64_t> otherwise, std::int64_t least,
                                 std::int64_t most) const {
  const nlohmann::json* value = find(key);
  if (!value && !otherwise) refuse(key, "it is missing, and the model's shape needs it");
  return value ? checked(key, *value, least, most) : *otherwise;
}

std::vector<std::int64_t> ConfigReader::tokens(const std::string& key) const {
  std::vector<std::int64_t> tokens;
  const nlohmann::json* value = find(key);
  if (!value) return tokens;
  const auto add = [&](const nlohmann::json& token) { tokens.push_back(checked(key, token, 0, kLargestSize)); };
  if (!value->is_array()) {
    if (*value != -1) add(*value);  // -1 stands for none in some files
    return tokens;
  }
  for (const nlohmann::json& token : *value)
    add(token);
  return tokens;
}

void add_remarks(const JsonReader& object, const ForeignFormat& format, std::vector<std::string>& remarks) {
  const std::vector<std::string> more = left_out(object, format);
  remarks.insert(remarks.end(), more.begin(), more.end());
}

}  // namespace multicard
