// A program without libparquet says how to get it.

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/ShellWord.hpp"
#include "io/ParquetFile.hpp"

namespace multicard {

struct ParquetFile::Open {};

bool ParquetFile::is_supported() {
  return false;
}

ParquetFile::ParquetFile(const std::string& path) : path_(path) {
  throw DataError(
      fmt::format("{} is a file of Parquet", path), "this program was built without libparquet",
      fmt::format("Build it with: scripts/setup.sh --parquet && scripts/build.sh. Or convert the file to JSON lines:\n"
                  "  python3 -c 'import pandas, sys; pandas.read_parquet(sys.argv[1]).to_json(sys.argv[2], "
                  "orient=\"records\", lines=True)' {} NEW.jsonl",
                  shell_word(path)));
}

ParquetFile::~ParquetFile() = default;

// No such file is ever open.
std::int64_t ParquetFile::num_rows() const {
  return 0;
}

std::vector<ParquetGroup> ParquetFile::groups() const {
  return {};
}

std::vector<ParquetColumn> ParquetFile::columns() const {
  return {};
}

std::string ParquetFile::metadata(const std::string&) const {
  return {};
}

std::string ParquetFile::row(std::int64_t) {
  return {};
}

std::vector<std::int64_t> ParquetFile::integers(const std::string&) {
  return {};
}

std::string ParquetFile::bytes(std::int64_t, const std::string&) {
  return {};
}

}  // namespace multicard
