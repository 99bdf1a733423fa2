#include "prepare/records/CsvRecords.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/CsvFields.hpp"
#include "base/Error.hpp"
#include "base/Utf8.hpp"

namespace multicard {

std::optional<char> csv_separator(const std::string& path) {
  std::filesystem::path name(path);
  if (name.extension() == ".gz") name = name.stem();
  if (name.extension() == ".csv") return ',';
  if (name.extension() == ".tsv") return '\t';
  return std::nullopt;
}

// The first three bytes may come in several pieces, and are kept until it is known whether they are a byte order mark,
// as Excel writes it: it would become part of the first column's name.
void CsvScanner::take(std::string_view piece) {
  if (has_begun_) return scan(piece);
  head_ += piece;
  if (head_.size() >= kByteOrderMark.size()) begin();
}

void CsvScanner::begin() {
  has_begun_ = true;
  std::string_view head = head_;
  if (head.starts_with(kByteOrderMark)) {
    offset_ = static_cast<std::int64_t>(kByteOrderMark.size());
    head.remove_prefix(kByteOrderMark.size());
  }
  scan(head);
}

// RFC 4180 by states, so that a row may span pieces and a quoted field lines. A quote inside quotes either ends the
// field or is the first of two that mean one: the next byte decides. Line ends are LF or CR LF; the CR is not part of
// the row.
void CsvScanner::scan(std::string_view piece) {
  for (const char byte : piece) {
    const bool begins_row = !is_open_ && byte != '\r' && byte != '\n';
    if (begins_row) {
      current_ = {offset_, 0, line_, 0};
      place_ = Place::field_start;
      is_open_ = true;
    }
    if (place_ == Place::quoted) {
      if (byte == '"') place_ = Place::quote_in_quotes;
    } else if (byte == '\n') {
      if (is_open_) end_row(last_ == '\r' ? offset_ - 1 : offset_);
    } else if (byte == separator_) {
      place_ = Place::field_start;
    } else if (byte == '"' && place_ != Place::plain) {
      place_ = Place::quoted;  // opens a field, or is the second of two quotes inside one
    } else if (place_ == Place::field_start) {
      place_ = Place::plain;
    }
    last_ = byte;
    ++offset_;
    if (byte == '\n') ++line_;
  }
}

std::string CsvScanner::finish() {
  if (!has_begun_) begin();
  if (is_open_ && place_ == Place::quoted)
    return fmt::format("it is truncated: a quoted field of the row that begins in line {} does not end", current_.line);
  if (is_open_) end_row(last_ == '\r' ? offset_ - 1 : offset_);
  return {};
}

void CsvScanner::end_row(std::int64_t end) {
  current_.num_bytes = end - current_.offset;
  rows_.push_back(current_);
  is_open_ = false;
  place_ = Place::field_start;
}

// All values stay texts: a CSV has no types, and "007" must not become 7.
std::string csv_record(const std::vector<std::string>& header, std::string_view row, char separator,
                       const std::string& what) {
  std::vector<std::string> fields = csv_fields(row, separator, what);
  if (fields.size() != header.size())
    throw DataError(fmt::format("{} has {} fields, the header {}", what, fields.size(), header.size()), "",
                    "Quote fields that hold separators or line ends.");
  nlohmann::json record = nlohmann::json::object();
  for (std::size_t i = 0; i < fields.size(); ++i)
    record[header[i]] = std::move(fields[i]);
  return record.dump();
}

}  // namespace multicard
