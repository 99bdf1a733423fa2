#pragma once
/// \file The records of several text files.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/Blocks.hpp"
#include "comm/Communicator.hpp"
#include "io/ParquetFile.hpp"
#include "prepare/files/SeekableInput.hpp"
#include "prepare/files/SourceFiles.hpp"
#include "prepare/records/RecordScanner.hpp"

namespace multicard {

/// What is one record.
enum class RecordKind {
  json,  ///< an element of a JSON array, a line, or a row of a table called *.csv or *.tsv (also .gz) or *.parquet
  text   ///< as json in files called *.json, *.jsonl, *.csv or *.tsv (also .gz) or *.parquet; any other file as a whole
};

/// All records of the files, in the order of the files; all ranks know where each stands. Files may be gzipped.
class RecordFiles {
 public:
  /// Collective: the ranks look through the files in parallel. A name that is no file is taken as a glob.
  /// \throws DataError on all ranks: nothing there, unreadable, a JSON array that does not end, no records at all.
  RecordFiles(const std::vector<std::string>& names, RecordKind kind, const Communicator& communicator);

  std::int64_t size() const { return static_cast<std::int64_t>(records_.size()); }
  /// "line 12 of FILE" or "element 5 of FILE (line 31)".
  std::string name_of(std::int64_t record) const;
  /// Whether the record is a text of its own, not JSON.
  bool is_plain(std::int64_t record) const;
  /// Its bytes, of a row of a table the JSON that it means. Cheapest in ascending order. Not collective; one thread.
  /// \throws DataError
  std::string read(std::int64_t record);
  /// The part-th of `num_parts` blocks of consecutive records with about the same number of bytes.
  Block block_of_bytes(int part, int num_parts) const;
  std::vector<SourceFile> files() const;
  /// Of all records together, uncompressed.
  std::int64_t num_bytes() const { return num_bytes_; }

 private:
  struct Record {
    std::int64_t file;
    RecordPlace place;
  };

  void scan(const Communicator& communicator);
  void open(const std::string& path);

  RecordKind kind_;
  std::vector<std::string> paths_;
  std::vector<Record> records_;
  std::vector<std::int64_t> begins_;  ///< bytes of all records before each
  std::int64_t num_bytes_ = 0;
  std::unique_ptr<SeekableInput> open_;   ///< the file read last
  std::vector<std::string> header_;       ///< its columns, if it is a table
  std::unique_ptr<ParquetFile> parquet_;  ///< the one read last
};

}  // namespace multicard
