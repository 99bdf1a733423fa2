#include "prepare/records/RecordFiles.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/CsvFields.hpp"
#include "base/Error.hpp"
#include "base/ShellWord.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "io/Glob.hpp"
#include "prepare/records/CsvRecords.hpp"

namespace multicard {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPieceBytes = 1 << 20;
/// What a tokenizer takes at once, and what JSON becomes in memory, have their limits.
constexpr std::int64_t kLargestText = (std::int64_t{1} << 31) - 1, kLargestJson = std::int64_t{1} << 28;

std::vector<std::string> find_files(const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    if (fs::is_directory(name))
      throw DataError(fmt::format("{} is a folder", name), "",
                      fmt::format("Name its files, for example '{}/*'.", name));
    const std::vector<std::string> found = expand_glob(name);
    paths.insert(paths.end(), found.begin(), found.end());
  }
  return paths;
}

bool is_parquet(const std::string& path) {
  return fs::path(path).extension() == ".parquet";
}

bool is_plain_file(const std::string& path) {
  if (csv_separator(path) || is_parquet(path)) return false;
  fs::path name(path);
  if (name.extension() == ".gz") name = name.stem();
  return name.extension() != ".json" && name.extension() != ".jsonl";
}

template <class Take>
std::int64_t for_all_bytes(SeekableInput& input, Take&& take) {
  std::vector<std::uint8_t> piece(static_cast<std::size_t>(kPieceBytes));
  std::int64_t offset = 0;
  while (const std::size_t got = input.read_some(static_cast<std::uint64_t>(offset), piece)) {
    take(std::string_view(reinterpret_cast<const char*>(piece.data()), got));
    offset += static_cast<std::int64_t>(got);
  }
  return offset;
}

/// By its mark of byte order, or by the zeros that ASCII characters have in every second byte, as in no UTF-8 text.
void refuse_utf16(const std::string& path, std::string_view begin) {
  const auto is_zero = [&](std::size_t i) { return begin[i] == '\0'; };
  const bool has_mark = begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff");
  const bool has_zeros =
      begin.size() >= 4 && is_zero(0) != is_zero(1) && is_zero(0) == is_zero(2) && is_zero(1) == is_zero(3);
  if (!has_mark && !has_zeros) return;
  const std::string from = has_mark ? "UTF-16" : is_zero(0) ? "UTF-16BE" : "UTF-16LE";  // the mark says which it is
  const std::string word = shell_word(path);
  const std::string command = fs::path(path).extension() == ".gz"
                                  ? fmt::format("zcat {} | iconv -f {} -t UTF-8 > NEW", word, from)
                                  : fmt::format("iconv -f {} -t UTF-8 {} > NEW", from, word);
  throw DataError(fmt::format("{} is UTF-16 text", path), "UTF-8 is read", "Convert it: " + command);
}

/// Columnar formats are known by their first bytes.
void refuse_columnar(const std::string& path, SeekableInput& input) {
  std::array<std::uint8_t, 6> bytes{};
  const std::size_t size = input.read_some(0, bytes);
  const std::string_view begin(reinterpret_cast<const char*>(bytes.data()), size);
  refuse_utf16(path, begin);
  if (begin.starts_with("PAR1"))
    throw DataError(fmt::format("{} is a file of Parquet", path), "its name does not end with .parquet", "Rename it.");
  const bool is_arrow = begin == "ARROW1" || begin.starts_with("FEA1");
  const bool is_stream = fs::path(path).extension() == ".arrow" && begin.starts_with("\xff\xff\xff\xff");
  if (!is_arrow && !is_stream) return;
  throw DataError(
      fmt::format("{} is a file of Arrow", path), "JSON, CSV, Parquet and plain texts are read",
      fmt::format("Convert it to JSON lines:\n  python3 -c '{}(\"{}\"){}.to_json(\"{}.jsonl\", "
                  "orient=\"records\", lines=True)'",
                  is_stream ? "import pyarrow; pyarrow.ipc.open_stream" : "import pandas; pandas.read_feather", path,
                  is_stream ? ".read_pandas()" : "", fs::path(path).replace_extension().string()));
}

template <class Scanner>
std::vector<RecordPlace> scanned(SeekableInput& input, Scanner scanner) {
  for_all_bytes(input, [&](std::string_view piece) { scanner.take(piece); });
  if (const std::string why = scanner.finish(); !why.empty())
    throw DataError(fmt::format("{} cannot be read", input.path()), why);
  return scanner.release();
}

/// The rows of a table without its header.
std::vector<RecordPlace> rows_in(SeekableInput& input, char separator) {
  std::vector<RecordPlace> rows = scanned(input, CsvScanner(separator));
  if (!rows.empty()) rows.erase(rows.begin());
  return rows;
}

/// The rows of a table of Parquet: their place is their number, their size that of an average row.
std::vector<RecordPlace> rows_of(const ParquetFile& file) {
  std::vector<RecordPlace> rows;
  for (const ParquetGroup& group : file.groups())
    for (std::int64_t row = group.first; row < group.first + group.count; ++row)
      rows.push_back({row, group.num_bytes / group.count, row + 1, 0});
  return rows;
}

std::vector<RecordPlace> places_in(const std::string& path, bool is_plain) {
  if (is_parquet(path)) return rows_of(ParquetFile(path));
  SeekableInput input(path);
  refuse_columnar(path, input);
  if (is_plain) {
    const std::int64_t num_bytes = for_all_bytes(input, [](std::string_view) {});
    return num_bytes == 0 ? std::vector<RecordPlace>{} : std::vector<RecordPlace>{{0, num_bytes, 1, 0}};
  }
  if (const std::optional<char> separator = csv_separator(path)) return rows_in(input, *separator);
  return scanned(input, RecordScanner());
}

/// The names of a table's columns.
std::vector<std::string> header_of(SeekableInput& input, char separator) {
  CsvScanner scanner(separator);
  std::vector<std::uint8_t> piece(static_cast<std::size_t>(kPieceBytes));
  std::vector<RecordPlace> rows;
  for (std::uint64_t offset = 0; rows.empty();) {  // there is a row: records were found
    const std::size_t got = input.read_some(offset, piece);
    if (got == 0) throw DataError(fmt::format("{} cannot be read", input.path()), "it has changed meanwhile");
    scanner.take({reinterpret_cast<const char*>(piece.data()), got});
    if (got < piece.size()) static_cast<void>(scanner.finish());
    rows = scanner.release();
    offset += got;
  }
  std::string bytes(static_cast<std::size_t>(rows.front().num_bytes), '\0');
  input.read(static_cast<std::uint64_t>(rows.front().offset),
             {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
  return csv_header(bytes, separator, fmt::format("line {} of {}", rows.front().line, input.path()));
}

/// Ranks exchange lists of records as bytes.
template <class T>
std::string as_bytes(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
void append_bytes(std::vector<T>& values, const std::string& bytes) {
  const std::size_t before = values.size();
  values.resize(before + bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data() + before, bytes.data(), bytes.size());
}

}  // namespace

// Every rank knows the place of every record, so that records can be shared out by bytes and named without reading. For
// a hundred million records these are some gigabytes a rank: the price of contents that do not depend on the number of
// ranks.
RecordFiles::RecordFiles(const std::vector<std::string>& names, RecordKind kind, const Communicator& communicator)
    : kind_(kind) {
  const std::string found =
      agreed(communicator, [&] { return communicator.is_root() ? packed_paths(find_files(names)) : std::string(); });
  paths_ = unpacked_paths(communicator.broadcast(found));
  scan(communicator);
  if (records_.empty()) throw DataError(fmt::format("{} holds no records", join(paths_, ", "))).on_all_ranks();
  for (const Record& record : records_) {
    begins_.push_back(num_bytes_);
    num_bytes_ += record.place.num_bytes;
  }
}

// Whole files are the unit: a gzip stream can only be read from its beginning, and whether a line end is inside quotes
// or a JSON string is only known from there. Blocks of files in rank order keep the records in the order of the files.
void RecordFiles::scan(const Communicator& communicator) {
  const auto num_files = static_cast<std::int64_t>(paths_.size());
  const Block mine = block_of(num_files, communicator.rank(), communicator.size());
  std::vector<Record> found;
  agreed_after_long_work(communicator, [&] {
    for (std::int64_t file = mine.first; file < mine.first + mine.count; ++file) {
      const std::string& path = paths_[static_cast<std::size_t>(file)];
      for (const RecordPlace& place : places_in(path, kind_ == RecordKind::text && is_plain_file(path)))
        found.push_back({file, place});
    }
  });
  for (const std::string& part : communicator.allgather(as_bytes(found)))
    append_bytes(records_, part);
}

std::string RecordFiles::name_of(std::int64_t record) const {
  const auto& [file, place] = records_[static_cast<std::size_t>(record)];
  const std::string& path = paths_[static_cast<std::size_t>(file)];
  if (is_plain(record)) return path;
  if (place.element == 0) return fmt::format("{} {} of {}", is_parquet(path) ? "row" : "line", place.line, path);
  return fmt::format("element {} of {} (line {})", place.element, path, place.line);
}

bool RecordFiles::is_plain(std::int64_t record) const {
  const auto file = static_cast<std::size_t>(records_[static_cast<std::size_t>(record)].file);
  return kind_ == RecordKind::text && is_plain_file(paths_[file]);
}

std::string RecordFiles::read(std::int64_t record) {
  const auto& [file, place] = records_[static_cast<std::size_t>(record)];
  const std::int64_t largest = is_plain(record) ? kLargestText : kLargestJson;
  if (place.num_bytes > largest)
    throw DataError(fmt::format("{} is too large", name_of(record)),
                    fmt::format("it has {}, the most is {}", human_bytes(static_cast<double>(place.num_bytes)),
                                human_bytes(static_cast<double>(largest))),
                    "Split it.");
  const std::string& path = paths_[static_cast<std::size_t>(file)];
  if (is_parquet(path)) {
    if (!parquet_ || parquet_->path() != path) parquet_ = std::make_unique<ParquetFile>(path);
    return parquet_->row(place.offset);
  }
  open(path);
  std::string bytes(static_cast<std::size_t>(place.num_bytes), '\0');
  open_->read(static_cast<std::uint64_t>(place.offset), {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
  const std::optional<char> separator = csv_separator(path);
  return separator ? csv_record(header_, bytes, *separator, name_of(record)) : bytes;
}

void RecordFiles::open(const std::string& path) {
  if (open_ && open_->path() == path) return;
  open_ = std::make_unique<SeekableInput>(path);
  const std::optional<char> separator = csv_separator(path);
  if (separator) header_ = header_of(*open_, *separator);
}

// By bytes, not by number: tokenising takes time by length, and lengths differ by orders of magnitude. A record belongs
// to the part in which its first byte lies.
Block RecordFiles::block_of_bytes(int part, int num_parts) const {
  const auto first_at = [&](std::int64_t byte) {
    return std::lower_bound(begins_.begin(), begins_.end(), byte) - begins_.begin();
  };
  const Block bytes = block_of(num_bytes_, part, num_parts);
  const std::int64_t first = first_at(bytes.first);
  // The last part takes what is left, also records without bytes.
  const std::int64_t end = part + 1 == num_parts ? size() : first_at(bytes.first + bytes.count);
  return {first, end - first};
}

std::vector<SourceFile> RecordFiles::files() const {
  std::vector<SourceFile> files;
  for (const std::string& path : paths_)
    files.push_back({path, fs::path(path).filename().string()});
  return files;
}

}  // namespace multicard
