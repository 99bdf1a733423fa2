#include "profile/trace/TraceDamage.hpp"

#include <algorithm>
#include <array>
#include <new>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "base/Shown.hpp"
#include "base/Utf8.hpp"
#include "profile/TimelineMark.hpp"

namespace multicard {

namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";
constexpr const char* kWhatIsRead = "multicard-post trace reads what the profiler of PyTorch exports.";

/// Where the string that begins before `at` ends: past its quotation mark, or at a flaw.
std::optional<TextFlaw> pass_string(std::string_view text, std::size_t& at) {
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) < 0x20)
      return TextFlaw{at, fmt::format("a string has the control character \\x{:02x}, which JSON writes as an escape",
                                      static_cast<unsigned>(c))};
    if (c == '\\') {
      ++at;
    } else if (c == '"') {
      ++at;
      return std::nullopt;
    }
  }
  return TextFlaw{text.size(), "it ends within a string: it is cut off, or a quotation mark is missing before"};
}

std::optional<TextFlaw> text_after(std::string_view text, std::size_t end) {
  const std::size_t at = text.find_first_not_of(kWhiteSpace, end);
  if (at == text.npos) return std::nullopt;
  return TextFlaw{at, "more text follows the end of the trace"};
}

std::size_t first_invalid(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = valid_length(text, at);
    if (length == 0) break;
    at += length;
  }
  return at;
}

/// The first character, or byte, of what is left of a text.
std::string first_character(std::string_view text) {
  const std::string_view first = text.substr(0, std::max<std::size_t>(1, valid_length(text, 0)));
  // shown() lets line feeds and tabs pass; neither is here.
  return shown(first);
}

/// "a number", or nothing where the text is not JSON, or too long for one.
std::optional<std::string> kind_of_scalar(std::string_view text) {
  constexpr std::size_t kMost = 1 << 20;
  if (text.size() > kMost) return std::nullopt;
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  if (parser.parse(text.data(), text.size()).get(element) != simdjson::SUCCESS) return std::nullopt;
  if (element.is_null()) return "null";
  if (element.is_bool()) return "a truth value";
  return element.is_string() ? "a string" : "a number";
}

}  // namespace

std::optional<TextFlaw> first_flaw(std::string_view text) {
  std::string open;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at++];
    if (c == '"') {
      if (auto flaw = pass_string(text, at)) return flaw;
    } else if (c == '{' || c == '[') {
      open += c;
    } else if (c == '}' || c == ']') {
      if (open.empty() || (c == '}') != (open.back() == '{'))
        return TextFlaw{at - 1, fmt::format("{} closes no bracket", c)};
      open.pop_back();
      if (open.empty()) return text_after(text, at);
    }
  }
  if (open.empty()) return std::nullopt;
  return TextFlaw{text.size(), "it is cut off: brackets are open at its end"};
}

std::string place_in(const TraceText& text, std::size_t at) {
  return fmt::format("byte {}{}", at, text.is_unpacked() ? " of the unpacked text" : "");
}

void require_object_or_array(const std::string& path, const TraceText& text) {
  const std::string_view whole = text.text();
  if (whole.starts_with("\x89HDF\r\n\x1a\n"))
    throw DataError(fmt::format("{} is not a trace", path), "it is an HDF5 file, as results files are",
                    "multicard-post profile makes the tables of a run's profile from its results.h5.");
  for (const char* mark : {"\xff\xfe", "\xfe\xff"})
    if (whole.starts_with(mark))
      throw DataError(fmt::format("{} is not JSON from {} on", path, place_in(text, 0)),
                      "it is UTF-16, and traces are UTF-8");
  const std::size_t marked = whole.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  const std::size_t begin = whole.find_first_not_of(kWhiteSpace, marked);
  if (begin == whole.npos)
    throw DataError(fmt::format("{} is empty", path), whole.size() > marked ? "it has white space alone" : "",
                    kWhatIsRead);
  const std::string_view rest = whole.substr(begin);
  if (rest.starts_with('{') || rest.starts_with('[')) return;
  if (const auto kind = kind_of_scalar(rest))
    throw DataError(fmt::format("{} is not a trace", path), fmt::format("it is {}", *kind), kWhatIsRead);
  throw DataError(fmt::format("{} is not JSON from {} on", path, place_in(text, begin)),
                  fmt::format("it begins with {} instead of a bracket", first_character(rest)), kWhatIsRead);
}

void require_no_time_line(const std::string& path) {
  std::array<char, 64> bytes;
  if (begins_as_time_line({bytes.data(), RegularFile(path).read(bytes.data(), bytes.size())})) throw_time_line(path);
}

void throw_time_line(const std::string& path) {
  throw UsageError(fmt::format("{} is a time line of a multicard run", path), "it shows all ranks, for Perfetto",
                   "multicard-post profile makes the tables of that run, from its results.h5.");
}

void throw_not_json(const std::string& path, const TraceText& text, int code, std::optional<std::size_t> at) {
  if (code == simdjson::MEMALLOC) throw std::bad_alloc();
  // Seen at the last bracket, before anything was read: the parser still stands at the first.
  if (code == simdjson::INCOMPLETE_ARRAY_OR_OBJECT) at.reset();
  TextFlaw flaw{at.value_or(0), "a value, comma, colon or bracket is missing, or one is too many"};
  if (code == simdjson::UTF8_ERROR) {
    flaw = {first_invalid(text.text()), "it is not UTF-8"};
  } else if (auto found = first_flaw(text.text()); found && (!at || found->at <= *at)) {
    flaw = std::move(*found);
  }
  throw DataError(fmt::format("{} is not JSON from {} on", path, place_in(text, flaw.at)), flaw.why);
}

}  // namespace multicard
