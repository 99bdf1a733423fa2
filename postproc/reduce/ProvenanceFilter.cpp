#include "postproc/reduce/ProvenanceFilter.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
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

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

char before(const std::string& text, std::size_t at) {
  return at == 0 ? ' ' : text[at - 1];
}

char at_or_blank(const std::string& text, std::size_t at) {
  return at < text.size() ? text[at] : ' ';
}

/// Whether the text before `at` ends with `ending`.
bool ends_before(const std::string& text, std::size_t at, std::string_view ending) {
  return at >= ending.size() && text.compare(at - ending.size(), ending.size(), ending) == 0;
}

/// Where the path begins whose part begins at `at`; npos where it is a relative one or of a page on the web. After an
/// option or a sign (-I/home/…, @/home/…) it begins with its first slash. From ../.. one may come to the root.
std::size_t begin_of_path(const std::string& text, std::size_t at) {
  // Folders of homes are near the root. Without a limit a long text of slashes would take its length squared.
  constexpr std::size_t kLongest = 256;
  std::size_t begin = at;
  while (begin > 0 && at - begin < kLongest && (is_of_name(text[begin - 1]) || text[begin - 1] == '/'))
    --begin;
  if (ends_before(text, begin, "http:") || ends_before(text, begin, "https:")) return std::string::npos;
  if (text[begin] == '-') return text.find('/', begin);
  if (text[begin] == '/' || (at > begin && ends_before(text, at, ".."))) return begin;
  const bool is_sign = text[begin] == '@' || text[begin] == '+';
  return is_sign && at_or_blank(text, begin + 1) == '/' ? begin + 1 : std::string::npos;
}

/// Whether a name ends at `end`. A full stop there is no part of it.
bool is_end_of_name(const std::string& text, std::size_t end) {
  if (at_or_blank(text, end) != '.') return !is_of_name(at_or_blank(text, end));
  const char next = at_or_blank(text, end + 1);
  return !is_of_name(next) && next != '/';
}

/// The end of the home folder that begins at `begin` of `text`; npos where none does. `at` is where it was found.
std::size_t end_of_home(const std::string& text, std::size_t begin, std::size_t at, const std::string& home) {
  for (const std::string& whole : {home, std::string("/root")})
    if (!whole.empty() && begin == at && text.compare(at, whole.size(), whole) == 0 &&
        is_end_of_name(text, at + whole.size()))
      return at + whole.size();
  for (const std::string_view parent : {"/home/", "/Users/"}) {
    if (text.compare(at, parent.size(), parent) != 0) continue;
    std::size_t end = at + parent.size();
    while (!is_end_of_name(text, end))
      ++end;
    if (end > at + parent.size()) return end;
  }
  return std::string::npos;
}

/// Of networks that are not the Internet: 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16.
bool is_private(const in_addr& address) {
  const std::uint32_t bits = ntohl(address.s_addr);
  return bits >> 24 == 10 || bits >> 20 == (172 << 4 | 1) || bits >> 16 == (192 << 8 | 168);
}

/// Whether the number at `at` is of a version by the word before it: CUDA_VERSION=12.4.0.41.
bool is_after_version(const std::string& text, std::size_t at) {
  constexpr std::string_view kWord = "version";
  std::size_t end = at;
  while (end > 0 && std::string_view("=: \"'").find(text[end - 1]) != std::string_view::npos)
    --end;
  return end >= kWord.size() && lower(text.substr(end - kWord.size(), kWord.size())) == kWord;
}

/// The end of the IPv4 address at `at`; npos where none is there. Four numbers after a letter, a point or a hyphen are
/// a version (v1.2.3.4, hdf5-1.14.4.3), but not those of a private network: node-10.0.0.5.
std::size_t end_of_ipv4(const std::string& text, std::size_t at) {
  const char previous = before(text, at);
  if (!is_digit(text[at]) || is_digit(previous) || (previous == '.' && at > 1 && is_digit(text[at - 2])))
    return std::string::npos;
  std::size_t end = at;
  while (is_digit(at_or_blank(text, end)) || (at_or_blank(text, end) == '.' && is_digit(at_or_blank(text, end + 1))))
    ++end;
  in_addr parsed{};
  if (inet_pton(AF_INET, text.substr(at, end - at).c_str(), &parsed) != 1) return std::string::npos;
  const char next = at_or_blank(text, end);
  if (is_alphanumeric(next) || is_after_version(text, at)) return std::string::npos;
  if (is_private(parsed)) return end;
  const bool is_part = is_alphanumeric(previous) || std::string_view("._-").find(previous) != std::string_view::npos;
  return is_part || next == '_' ? std::string::npos : end;
}

/// Whether an IPv6 address may begin at `at`: not within a word or another one (but after "peer:"), nor as a slice of
/// Python (x[1::2]).
bool may_begin_ipv6(const std::string& text, std::size_t at) {
  const char previous = before(text, at);
  if (is_alphanumeric(previous) || previous == '_') return false;
  if (previous == '[' && at > 1)
    return !is_alphanumeric(text[at - 2]) && std::string_view("_)]").find(text[at - 2]) == std::string_view::npos;
  if (previous != ':') return true;
  std::size_t word = at - 1;
  while (word > 0 && (is_alphanumeric(text[word - 1]) || text[word - 1] == '_'))
    --word;
  return std::any_of(text.begin() + static_cast<long>(word), text.begin() + static_cast<long>(at) - 1,
                     [](char c) { return !is_hexadecimal(c); });
}

/// Names of C++ (c10::add) and steps of slices (::2) look like one.
bool is_ipv6(const std::string& text) {
  in6_addr parsed{};
  if (std::ranges::count(text, ':') < 2 || inet_pton(AF_INET6, text.c_str(), &parsed) != 1) return false;
  if (text.starts_with("::"))
    return text == "::1" || text.starts_with("::ffff:") || text.find('.') != std::string::npos;
  return !text.starts_with("c10::");
}

/// The same of IPv6, whose last part may be written as IPv4. A full stop or colon after it belongs to the sentence.
std::size_t end_of_ipv6(const std::string& text, std::size_t at) {
  if (!may_begin_ipv6(text, at)) return std::string::npos;
  for (const bool has_ipv4 : {true, false}) {
    std::size_t end = at;
    while (is_hexadecimal(at_or_blank(text, end)) || at_or_blank(text, end) == ':' ||
           (has_ipv4 && at_or_blank(text, end) == '.'))
      ++end;
    const char next = at_or_blank(text, end);
    while (end > at && (text[end - 1] == '.' || (text[end - 1] == ':' && before(text, end - 1) != ':')))
      --end;
    const bool is_trimmed = at_or_blank(text, end) != next;
    if ((is_trimmed || (!is_alphanumeric(next) && next != '_')) && is_ipv6(text.substr(at, end - at))) return end;
  }
  return std::string::npos;
}

/// The same alias for the same `original`.
const std::string& alias(std::map<std::string, std::string>& aliases, const std::string& original,
                         const std::string& first, const std::string& further) {
  const auto number = aliases.size() + 1;
  const auto [known, is_new] = aliases.emplace(original, first);
  if (is_new && number > 1) known->second = fmt::format(fmt::runtime(further), number);
  return known->second;
}

/// The name of a variable or attribute: CUDA_VERSION.
bool is_version(const std::string& name) {
  const std::string key = lower(name);
  if (key.ends_with("version")) return true;
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
    // The same home folder whether it is reached from the root or by ../..
    const std::size_t home = text[begin] == '/' ? begin : at;
    out += text.substr(done, begin - done) + alias(homes_, text.substr(home, end - home), "~", "~{}");
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
  return privacy_ == Privacy::full
             ? text
             : without_homes(without_secret_words(text, [this](const std::string& secret) { return hidden(secret); }));
}

std::string ProvenanceFilter::hidden(const std::string& secret) {
  // Of a text that has been filtered, to its end or to its first blank.
  static const std::string kBegin = "[hidden";
  if (secret == kBegin || (secret.starts_with(kBegin) && secret.find(']') == secret.size() - 1)) return secret;
  return alias(secrets_, secret, kHidden, "[hidden {}]");
}

void ProvenanceFilter::filter(std::map<std::string, std::string>& values) {
  for (auto& [key, value] : values)
    value = names_secret(key) ? hidden(value) : is_version(key) ? filtered_version(value) : filtered(value);
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
