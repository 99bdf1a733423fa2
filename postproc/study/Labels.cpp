#include "postproc/study/Labels.hpp"

#include <algorithm>
#include <charconv>

#include "base/Shown.hpp"
#include "base/Text.hpp"

namespace multicard::post {

std::string short_key(const std::string& key) {
  const std::vector<std::string> parts = split(key, '.');
  // optimizer.name is "optimizer".
  if (parts.size() > 1 && parts.back() == "name") return parts[parts.size() - 2];
  if (key == "model.path") return "model";
  return parts.back();
}

std::string last_name(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path.substr(path.find_last_of('/') + 1);
}

std::string short_value(const std::string& value) {
  return shown(value, kLongestLabel);
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

std::string spaced(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string capitalised(std::string text) {
  // ASCII alone: std::toupper depends on the locale.
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 32);
  return text;
}

std::string counted_pairs(long count, const std::string& of) {
  return counted(count, "pair") + " of " + of;
}

std::string counted_text(const std::string& number, const std::string& noun) {
  long count = 0;
  const char* const end = number.data() + number.size();
  const auto parsed = std::from_chars(number.data(), end, count);
  return parsed.ec == std::errc() && parsed.ptr == end ? counted(count, noun) : number + " " + noun + "s";
}

}  // namespace multicard::post
