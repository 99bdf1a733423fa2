#include "text/tokenizer/NameMatch.hpp"

#include "text/regex/Regex.hpp"

namespace multicard {

std::vector<std::string> whole_matches(const std::string& expression, const std::vector<std::string>& names,
                                       const std::string& shown) {
  constexpr std::uint64_t kMostSteps = 1'000'000;  // names are short, and an honest expression takes some hundreds
  const Regex regex = Regex::whole(expression, {"the regular expression", kMostSteps, shown});
  std::vector<std::string> matching;
  for (const std::string& name : names)
    if (regex.find(name, 0)) matching.push_back(name);
  return matching;
}

}  // namespace multicard
