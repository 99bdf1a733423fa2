#include "results/JsonLines.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/JsonText.hpp"
#include "base/RegularFile.hpp"
#include "comm/Agreement.hpp"
#include "io/Bytes.hpp"
#include "io/JsonReader.hpp"
#include "io/OwnFiles.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

bool is_before(const nlohmann::json& line, std::int64_t first_step) {
  if (!line.is_object()) return false;
  const auto step = line.find("step");
  return step != line.end() && step->is_number_integer() && *step < first_step;
}

/// The whole lines of steps before `first_step`. They are not sorted: rates of a step follow its evaluation, which
/// bears the number of the next one.
std::string lines_before(const std::string& path, std::int64_t first_step) {
  require_regular_file(path);
  std::ifstream file(path);
  std::string kept, line;
  // A last line without its end was cut off when a run was killed: getline then reaches the end of the file.
  while (std::getline(file, line) && !file.eof()) {
    bool is_kept = false;
    if (!error_of([&] { is_kept = is_before(parse_json(line, path), first_step); }) && is_kept) kept += line + '\n';
  }
  return kept;
}

/// Whether the line could be of add().
bool could_be_own(const std::string& line) {
  static const std::regex whole(R"(\{"step":[0-9]+,"time":[0-9])");
  constexpr std::size_t kLongestStart = 60;  // lines may be long, and no further has to be looked
  return std::regex_search(line.substr(0, kLongestStart), whole, std::regex_constants::match_continuous);
}

/// The same of the beginning of a line that a killed run has left.
bool could_become_own(const std::string& line) {
  std::string_view rest = line;
  for (const std::string_view fixed : {R"({"step":)", R"(,"time":)"}) {
    const std::size_t shared = std::min(rest.size(), fixed.size());
    if (rest.substr(0, shared) != fixed.substr(0, shared)) return false;
    rest.remove_prefix(shared);
    if (rest.empty()) return true;  // it ends here
    const std::size_t num_digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (num_digits == 0) return false;
    rest.remove_prefix(num_digits);
  }
  return true;
}

/// Returns `path`, whose file then has the lines before `first_step` alone.
std::string cut_at(const std::string& path, std::int64_t first_step) {
  require_own_file(path, "the metrics of the run", is_metrics_file);
  if (!fs::exists(path)) {
    fs::create_directories(fs::absolute(path).parent_path());
    return path;
  }
  // What is kept are whole lines of the file in their order, so an equal size means that all of it is kept.
  if (const std::string kept = lines_before(path, first_step); kept.size() != fs::file_size(path))
    write_file(path, kept);
  return path;
}

}  // namespace

bool is_metrics_file(const std::string& path) {
  if (why_unreadable(path)) return false;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (!(file.eof() ? could_become_own(line) : could_be_own(line))) return false;
  return true;
}

JsonLines::JsonLines(const std::string& path, std::int64_t first_step)
    : file_(cut_at(path, first_step), Opening::append) {}

void JsonLines::add(const std::string& name, std::int64_t step, double value) {
  // JSON has no NaN and no infinity; a null would be a value to most scripts.
  if (!std::isfinite(value)) return;
  // Values come in the order of steps, so a line ends when the first value of another step comes. An evaluation after
  // update n has the number n, as the step that follows it, but is not part of that.
  const bool counts_updates = name.starts_with("eval_") || name.starts_with("checkpoint_");
  if (step != step_ || counts_updates != counts_updates_) end_line();
  step_ = step;
  counts_updates_ = counts_updates;
  if (line_.empty()) line_ = fmt::format("{{\"step\":{},\"time\":{:.3f}", step, seconds_since_1970());
  line_ += fmt::format(",\"{}\":{}", name, json_text(nlohmann::json(value)));
}

void JsonLines::end_line() {
  if (line_.empty()) return;
  pending_ += line_ + "}\n";
  line_.clear();
}

void JsonLines::flush() {
  end_line();
  file_.write(pending_);
  pending_.clear();
}

}  // namespace multicard
