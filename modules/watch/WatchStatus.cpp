#include "watch/WatchStatus.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/BuildInfo.hpp"
#include "base/Error.hpp"
#include "base/JsonText.hpp"
#include "base/System.hpp"
#include "io/JsonReader.hpp"
#include "io/OwnFiles.hpp"
#include "results/MetricSink.hpp"

namespace multicard {

namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kFormat = "multicard-status";
constexpr int kVersion = 1;

/// Numbers that are not known and empty texts are left out.
template <class Row>
Json json_of(const Row& row) {
  Json json = Json::object();
  for_each_column<Row>([&]<class Value>(const RowColumn<Row, Value>& column) {
    const Value& value = row.*column.place;
    if constexpr (std::is_same_v<Value, double>)
      if (!std::isfinite(value)) return;
    if constexpr (std::is_same_v<Value, std::string>)
      if (value.empty()) return;
    json[column.name] = value;
  });
  return json;
}

template <class Row>
Json json_of(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows)
    list.push_back(json_of(row));
  return list;
}

template <class Value>
Json finite_of(const std::map<std::string, Value>& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values)
    if (std::isfinite(static_cast<double>(value))) json[name] = value;
  return json;
}

/// Columns rather than points, which would repeat their names; null where a value is not known.
Json json_of_history(const std::vector<WatchPoint>& points) {
  Json steps = Json::array(), losses = Json::array(), rates = Json::array();
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  for (const WatchPoint& point : points) {
    steps.push_back(point.step);
    losses.push_back(number(point.loss));
    rates.push_back(number(point.rate));
  }
  return {{"step", std::move(steps)}, {"loss", std::move(losses)}, {"rate", std::move(rates)}};
}

Json json_of_run(const WatchedRun& run) {
  Json json = json_of(run);
  Json& phases = json["phases"] = Json::object();
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i)
    if (std::isfinite(run.phases[i])) phases[kPhaseNames[i]] = run.phases[i];
  json["evaluation"] = finite_of(run.evaluation);
  json["predicted_bytes"] = finite_of(run.predicted);
  if (run.checkpoint.step >= 0) json["checkpoint"] = json_of(run.checkpoint);
  json["per_rank"] = json_of(run.per_rank);
  json["memory"] = json_of(run.memory);
  json["findings"] = json_of(run.findings);
  json["history"] = json_of_history(run.history);
  return json;
}

/// What is missing keeps its value; a later version may have more.
template <class Row>
void read_into(Row& row, const nlohmann::json& json) {
  for_each_column<Row>([&]<class Value>(const RowColumn<Row, Value>& column) {
    if (const auto found = json.find(column.name); found != json.end() && !found->is_null())
      row.*column.place = found->template get<Value>();
  });
}

template <class Row>
void read_rows(std::vector<Row>& rows, const nlohmann::json& json, const char* name) {
  if (!json.contains(name)) return;
  for (const nlohmann::json& one : json.at(name))
    read_into(rows.emplace_back(), one);
}

std::vector<WatchPoint> history_of(const nlohmann::json& json) {
  const auto &steps = json.at("step"), &losses = json.at("loss"), &rates = json.at("rate");
  std::vector<WatchPoint> points;
  const auto number = [](const nlohmann::json& value) { return value.is_null() ? kNone : value.get<double>(); };
  for (std::size_t i = 0; i < steps.size(); ++i)
    points.push_back({steps.at(i).get<std::int64_t>(), number(losses.at(i)), number(rates.at(i))});
  return points;
}

WatchedRun run_of(const nlohmann::json& json) {
  WatchedRun run;
  read_into(run, json);
  run.phases.fill(kNone);
  if (json.contains("phases"))
    for (std::size_t i = 0; i < kPhaseNames.size(); ++i)
      run.phases[i] = json.at("phases").value(kPhaseNames[i], kNone);
  if (json.contains("evaluation")) run.evaluation = json.at("evaluation").get<std::map<std::string, double>>();
  if (json.contains("predicted_bytes"))
    run.predicted = json.at("predicted_bytes").get<std::map<std::string, std::int64_t>>();
  if (json.contains("checkpoint")) read_into(run.checkpoint, json.at("checkpoint"));
  read_rows(run.per_rank, json, "per_rank");
  read_rows(run.memory, json, "memory");
  read_rows(run.findings, json, "findings");
  if (json.contains("history")) run.history = history_of(json.at("history"));
  return run;
}

WatchedShare share_of(const nlohmann::json& json) {
  WatchedShare share;
  read_into(share, json);
  read_rows(share.tasks, json, "tasks");
  read_rows(share.changes, json, "changes");
  return share;
}

/// Field 22 of /proc/PID/stat; the name of the program, in parentheses, may hold spaces.
std::int64_t start_of_process(std::int64_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(text.substr(name_end + 1));
  std::string field;
  constexpr int kFieldsAfterName = 20;
  for (int i = 0; i < kFieldsAfterName; ++i)
    rest >> field;
  std::int64_t ticks = 0;
  return std::istringstream(field) >> ticks ? ticks : 0;
}

}  // namespace

std::string status_file(const std::string& output) {
  return output + "/status.json";
}

bool is_status_file(const std::string& path) {
  return content_says(path, "{", kFormat);
}

std::string status_text(const WatchStatus& status) {
  Json json{{"format", kFormat}, {"version", kVersion}};
  const Json head = json_of(status);
  for (const auto& [name, value] : head.items())
    json[name == "version" ? "program" : name] = value;
  if (status.sweep) json["sweep"] = json_of(*status.sweep);
  if (status.share) {
    json["share"] = json_of(*status.share);
    json["share"]["tasks"] = json_of(status.share->tasks);
    json["share"]["changes"] = json_of(status.share->changes);
  }
  if (status.run) json["run"] = json_of_run(*status.run);
  return json_text(json) + "\n";
}

WatchStatus read_status_text(std::string_view text, const std::string& origin) {
  const std::string problem = fmt::format("{} cannot be read as a status file", origin);
  auto json = parse_json_object<nlohmann::json>(text, problem);
  WatchStatus status;
  try {
    if (json.at("format") != kFormat || json.at("version") != kVersion)
      throw DataError(problem, "it is not of this version of multicard");
    json["version"] = json.value("program", std::string());
    read_into(status, json);
    if (json.contains("sweep")) read_into(status.sweep.emplace(), json.at("sweep"));
    if (json.contains("share")) status.share = share_of(json.at("share"));
    if (json.contains("run")) status.run = run_of(json.at("run"));
  } catch (const nlohmann::json::exception&) {
    throw DataError(problem, "a value is missing or of another type");
  }
  return status;
}

WatchStatus status_of_process(const std::string& kind) {
  WatchStatus status;
  status.kind = kind;
  status.state = name_of(WatchState::starting);
  status.version = build_info().version;
  status.host = host_name();
  status.pid = getpid();
  status.process_start = start_of_process(status.pid);
  status.started = seconds_since_1970();
  return status;
}

std::optional<bool> is_writer_running(const WatchStatus& status) {
  if (status.host != host_name()) return std::nullopt;
  return is_running(status.pid) && (status.process_start == 0 || start_of_process(status.pid) == status.process_start);
}

}  // namespace multicard
