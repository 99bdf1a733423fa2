#include "postproc/reduce/ProvenanceFilter.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "base/Secrets.hpp"
#include "base/Text.hpp"
#include "postproc/reduce/SecretText.hpp"

namespace multicard::post {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_alphanumeric(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_hexadecimal(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// Of a name in a path. Bytes of other alphabets belong to names.
bool is_of_name(char c) {
  return is_alphanumeric(c) || std::string_view("._-+@~").find(c) != std::string_view::npos ||
         static_cast<unsigned char>(c) >= 0x80;
}

char before(const std::string& text, std::size_t at) {
  return at == 0 ? ' ' : text[at - 1];
}

char at_or_blank(const std::string& text, std::size_t at) {
  return at < text.size() ? text[at] : ' ';
}

/// Where the path begins whose part begins at `at`; npos where it is a relative one. After an option (-I/home/me) it
/// begins with its first slash.
std::size_t begin_of_path(const std::string& text, std::size_t at) {
  // Folders of homes are near the root. Without a limit a long text of slashes would take its length squared.
  constexpr std::size_t kLongest = 256;
  std::size_t begin = at;
  while (begin > 0 && at - begin < kLongest && (is_of_name(text[begin - 1]) || text[begin - 1] == '/'))
    --begin;
  if (text[begin] == '/') return begin;
  return text[begin] == '-' ? text.find('/', begin) : std::string::npos;
}

/// The end of the home folder that begins at `begin` of `text`; npos where none does. `at` is where it was found.
std::size_t end_of_home(const std::string& text, std::size_t begin, std::size_t at, const std::string& home) {
  const auto is_whole = [&](std::size_t end) { return !is_of_name(at_or_blank(text, end)); };
  for (const std::string& whole : {home, std::string("/root")})
    if (!whole.empty() && begin == at && text.compare(at, whole.size(), whole) == 0 && is_whole(at + whole.size()))
      return at + whole.size();
  for (const std::string_view parent : {"/home/", "/Users/"}) {
    if (text.compare(at, parent.size(), parent) != 0) continue;
    std::size_t end = at + parent.size();
    while (is_of_name(at_or_blank(text, end)))
      ++end;
    if (end > at + parent.size()) return end;
  }
  return std::string::npos;
}

/// The end of the IPv4 address at `at`; npos where none is there. Four numbers after a letter, a point or a hyphen are
/// a version: v1.2.3.4, hdf5-1.14.4.3.
std::size_t end_of_ipv4(const std::string& text, std::size_t at) {
  const char previous = before(text, at);
  if (!is_digit(text[at]) || is_alphanumeric(previous) || std::string_view("._-").find(previous) != std::string::npos)
    return std::string::npos;
  std::size_t end = at;
  while (is_digit(at_or_blank(text, end)) || (at_or_blank(text, end) == '.' && is_digit(at_or_blank(text, end + 1))))
    ++end;
  in_addr parsed{};
  if (inet_pton(AF_INET, text.substr(at, end - at).c_str(), &parsed) != 1) return std::string::npos;
  const char next = at_or_blank(text, end);
  return is_alphanumeric(next) || next == '_' ? std::string::npos : end;
}

/// The same of IPv6. Names of C++ (c10::add) look like one.
std::size_t end_of_ipv6(const std::string& text, std::size_t at) {
  const char previous = before(text, at);
  if (is_alphanumeric(previous) || std::string_view("_:").find(previous) != std::string_view::npos)
    return std::string::npos;
  std::size_t end = at;
  while (is_hexadecimal(at_or_blank(text, end)) || at_or_blank(text, end) == ':')
    ++end;
  const std::string found = text.substr(at, end - at);
  in6_addr parsed{};
  if (found.starts_with("c10::") || found == "::" || std::ranges::count(found, ':') < 2 ||
      inet_pton(AF_INET6, found.c_str(), &parsed) != 1)
    return std::string::npos;
  const char next = at_or_blank(text, end);
  return is_alphanumeric(next) || next == '_' ? std::string::npos : end;
}

/// The same alias for the same `original`.
const std::string& alias(std::map<std::string, std::string>& aliases, const std::string& original,
                         const std::string& first, const std::string& further) {
  const auto number = aliases.size() + 1;
  const auto [known, is_new] = aliases.emplace(original, first);
  if (is_new && number > 1) known->second = fmt::format(fmt::runtime(further), number);
  return known->second;
}

bool is_version(const std::string& key) {
  static const std::set<std::string> kVersions{"version", "git",  "driver", "cuda",   "nccl",
                                               "mpi",     "hdf5", "torch",  "kernel", "compiler"};
  return kVersions.contains(key);
}

}  // namespace

ProvenanceFilter::ProvenanceFilter(Privacy privacy) : privacy_(privacy) {
  const char* home = std::getenv("HOME");
  if (!home) return;
  home_ = home;
  while (home_.ends_with('/'))
    home_.pop_back();
  // "/" or "/x" begins any path: a container without a user may have it.
  constexpr std::size_t kShortest = 4;
  if (home_.size() < kShortest || home_ == "/tmp") home_.clear();
}

std::string ProvenanceFilter::without_homes(const std::string& text) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at + 1)) {
    if (at < done) continue;
    const std::size_t begin = begin_of_path(text, at);
    if (begin == std::string::npos || begin < done) continue;
    const std::size_t end = end_of_home(text, begin, at, home_);
    if (end == std::string::npos) continue;
    out += text.substr(done, begin - done) + alias(homes_, text.substr(begin, end - begin), "~", "~{}");
    done = end;
  }
  return out + text.substr(done);
}

std::string ProvenanceFilter::without_addresses(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = end_of_ipv4(text, at);
    if (end == std::string::npos) end = end_of_ipv6(text, at);
    if (end == std::string::npos) {
      out += text[at++];
      continue;
    }
    out += alias(addresses_, text.substr(at, end - at), "[address]", "[address {}]");
    at = end;
  }
  return out;
}

std::string ProvenanceFilter::filtered(const std::string& text) {
  return privacy_ == Privacy::full ? text : without_addresses(filtered_version(text));
}

std::string ProvenanceFilter::filtered_version(const std::string& text) {
  return privacy_ == Privacy::full ? text : without_homes(without_secret_words(text));
}

void ProvenanceFilter::filter(std::map<std::string, std::string>& values) {
  for (auto& [key, value] : values)
    value = names_secret(key) ? kHidden : is_version(key) ? filtered_version(value) : filtered(value);
}

Source ProvenanceFilter::filtered(Source source) {
  if (privacy_ == Privacy::full) return source;
  source.path = filtered(source.path);
  for (auto* values : {&source.attributes, &source.provenance, &source.environment})
    filter(*values);
  for (auto& [name, value] : source.environment)
    if (speaks_of_secrets(name)) value = kHidden;
  for (std::string& host : source.hosts)
    host = filtered(host);
  for (AllocationChange& change : source.allocation.changes)
    change.reason = filtered(change.reason);
  for (AllocationBaseline& baseline : source.allocation.baselines)
    baseline.reason = filtered(baseline.reason);
  return source;
}

RunData ProvenanceFilter::filtered(RunData run) {
  if (privacy_ == Privacy::full) return run;
  filter(run.summary.text);
  run.summary.error = filtered(run.summary.error);
  return run;
}

}  // namespace multicard::post
