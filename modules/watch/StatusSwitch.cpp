#include "watch/StatusSwitch.hpp"

#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

bool is_status_wanted() {
  const char* value = std::getenv("MULTICARD_STATUS");
  const std::string word = value ? value : "";
  if (word.empty() || word == "on") return true;
  if (word == "off") return false;
  throw UsageError(fmt::format("MULTICARD_STATUS is '{}'", word), "", "Set on or off.");
}

}  // namespace multicard
