#include "postproc/reduce/ReadClaim.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "base/Text.hpp"
#include "io/JsonReader.hpp"
#include "io/OwnFiles.hpp"

namespace multicard::post {

namespace {

using nlohmann::json;

ClaimCell cell_of(const json& line) {
  ClaimCell cell;
  cell.claim = line.at("claim").get<std::string>();
  cell.place = line.at("place").get<std::string>();
  cell.task = line.at("task").get<std::string>();
  cell.variant = line.at("variant").get<std::string>();
  cell.repeat = line.at("repeat").get<int>();
  cell.is_lossy = line.value("lossy", false);
  cell.is_apart = line.value("apart", false);
  cell.is_control = line.value("control", false);
  cell.base = line.value("base", std::string());
  for (const auto& [name, value] : line.at("values").items())
    if (!value.is_null()) cell.values[name] = value.get<double>();
  return cell;
}

void add_header(const json& line, ClaimFile& file) {
  const json &grid = line.at("grid"), &claimed = grid.at("claimed"), &acceptance = grid.at("acceptance");
  file.rules = {claimed.at("iteration_time").get<double>(), claimed.at("memory_utilisation").get<double>(),
                claimed.at("communication").get<double>(), acceptance.at("loss").get<double>(),
                acceptance.at("bytes").get<double>()};
  file.is_quick = line.at("quick").get<bool>();
  file.model = line.at("model").get<std::string>();
  file.machine = line.at("machine").get<std::string>();
  file.processors = line.at("processors").get<int>();
  file.load = line.at("load").get<double>();
  file.repeats = grid.at("repeats").get<int>();
  file.communication_repeats = grid.value("communication", json::object()).value("repeats", file.repeats);
  for (const json& place : grid.at("places"))
    for (const json& ranks : place.at("ranks"))
      file.ranks[place.at("name").get<std::string>()] += ranks.get<int>();
}

/// Adds what a line says; its members have the wrong types or are missing: a json::exception.
void add_line(const std::string& text, ClaimFile& file) {
  const json line = parse_json(text, file.path);
  const auto kind = line.at("claim").get<std::string>();
  if (kind == "study")
    add_header(line, file);
  else if (kind == "left out")
    file.left_out.emplace_back(line.at("what").get<std::string>(), line.at("reason").get<std::string>());
  else if (kind == "time")
    file.seconds = line.at("seconds").get<double>();
  else
    file.cells.push_back(cell_of(line));
}

}  // namespace

bool is_claim_file(const std::string& path) {
  return content_says(path, "{\"claim\": \"study\"", "\"acceptance\"");
}

ClaimFile read_claim_file(const std::string& path) {
  ClaimFile file;
  file.path = path;
  const std::string problem = path + " holds no measured claim";
  constexpr const char* kCure = "Give the claim.jsonl that scripts/study_claim.sh wrote.";
  try {
    for (const std::string& line : split(read_file(path), '\n'))
      if (!line.empty()) add_line(line, file);
  } catch (const json::exception& error) {
    throw DataError(problem, error.what(), kCure);
  }
  if (file.cells.empty()) throw DataError(problem, "none of its lines is a cell", kCure);
  return file;
}

}  // namespace multicard::post
