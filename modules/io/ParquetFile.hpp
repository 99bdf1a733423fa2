#pragma once
/// \file Tables in Parquet, the format of data sets on hubs. Read with Arrow's libparquet, an optional part of the
/// build.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace multicard {

/// What a column holds, as far as readers of data sets tell columns apart.
enum class ParquetKind {
  integer,
  text,
  bytes,  ///< binary values without an encoding
  image,  ///< a struct with a member `bytes`, as the datasets library writes images
  other   ///< lists, other structs, numbers with fractions, dates and so on
};

struct ParquetColumn {
  std::string name;
  ParquetKind kind;
  std::string type;  ///< in Arrow's words, for messages
};

/// Rows that a file stores together.
struct ParquetGroup {
  std::int64_t first, count;  ///< rows
  std::int64_t num_bytes;     ///< uncompressed
};

/// An open file. Rows are cheapest in ascending order: at most one group of them is decoded at a time, in batches.
/// Not thread-safe, except in const functions.
class ParquetFile {
 public:
  /// Whether this program was built with libparquet.
  static bool is_supported();

  /// \throws DataError where it is no such file or damaged, or without is_supported(), which names the way to have it
  explicit ParquetFile(const std::string& path);
  ~ParquetFile();
  ParquetFile(const ParquetFile&) = delete;
  ParquetFile& operator=(const ParquetFile&) = delete;

  const std::string& path() const { return path_; }
  std::int64_t num_rows() const;
  std::vector<ParquetGroup> groups() const;
  std::vector<ParquetColumn> columns() const;
  /// A value of the file's metadata, empty where there is none.
  std::string metadata(const std::string& key) const;

  /// A row as a JSON object: structs become objects, lists arrays, dates and decimals text, NaN and infinities null,
  /// bytes an object with their number. \throws DataError where a text is not UTF-8, or for damaged data
  std::string row(std::int64_t row);
  /// All values of a column of integers. \throws DataError also for a null
  std::vector<std::int64_t> integers(const std::string& column);
  /// The bytes of a value of kind image or bytes. \throws DataError also for a null and where only a path is stored
  std::string bytes(std::int64_t row, const std::string& column);

 private:
  struct Open;
  std::string path_;
  std::unique_ptr<Open> open_;
};

}  // namespace multicard
