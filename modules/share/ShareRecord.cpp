#include "share/ShareRecord.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/JsonText.hpp"
#include "io/Bytes.hpp"
#include "io/JsonReader.hpp"
#include "io/OwnFiles.hpp"
#include "results/Schema.hpp"
#include "share/ShareBaselines.hpp"

namespace multicard {

namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kFormat = "multicard-share";

Json json_of(const ShareInterval& interval) {
  return {{"task", interval.task},
          {"first_rank", interval.range.first},
          {"ranks", interval.range.count},
          {"start_s", interval.start_s},
          {"end_s", interval.end_s},
          {"predicted_step_s", interval.predicted_step_s},
          {"measured_step_s", interval.measured_step_s}};
}

Json json_of(const ShareChange& change) {
  return {{"time_s", change.time_s},
          {"task", change.task},
          {"from", change.from},
          {"to", change.to},
          {"predicted_gain", change.predicted_gain},
          {"cost_s", change.cost_s},
          {"reason", change.reason}};
}

Json json_of(const ShareKept& kept) {
  return {{"time_s", kept.time_s},
          {"predicted_gain", kept.predicted_gain},
          {"cost_s", kept.cost_s},
          {"reason", kept.reason}};
}

Json json_of(const ShareArrival& arrival) {
  return {{"name", arrival.name}, {"file", arrival.file}, {"entry", arrival.entry}};
}

ShareInterval interval_of(const nlohmann::json& json) {
  return {json.at("task").get<std::string>(),  {json.at("first_rank").get<int>(), json.at("ranks").get<int>()},
          json.at("start_s").get<double>(),    json.at("end_s").get<double>(),
          json.value("predicted_step_s", 0.0),  // older records lack them
          json.value("measured_step_s", 0.0)};
}

ShareChange change_of(const nlohmann::json& json) {
  return {json.at("time_s").get<double>(),
          json.at("task").get<std::string>(),
          json.at("from").get<int>(),
          json.at("to").get<int>(),
          json.at("predicted_gain").get<double>(),
          json.at("cost_s").get<double>(),
          json.at("reason").get<std::string>()};
}

ShareKept kept_of(const nlohmann::json& json) {
  return {json.at("time_s").get<double>(), json.at("predicted_gain").get<double>(), json.at("cost_s").get<double>(),
          json.at("reason").get<std::string>()};
}

ShareArrival arrival_of(const nlohmann::json& json) {
  return {json.at("name").get<std::string>(), json.at("file").get<std::string>(), json.at("entry").get<std::string>()};
}

template <class Entry>
Json list_of(const std::vector<Entry>& entries) {
  Json list = Json::array();
  for (const Entry& entry : entries)
    list.push_back(json_of(entry));
  return list;
}

}  // namespace

ShareInterval* ShareRecord::open_interval(const std::string& task) {
  const auto last = std::find_if(intervals.rbegin(), intervals.rend(),
                                 [&](const ShareInterval& interval) { return interval.task == task; });
  return last != intervals.rend() && last->end_s < 0 ? &*last : nullptr;
}

void ShareRecord::note(const std::string& task, const RankRange& range, double now, double predicted_step_s) {
  ShareInterval* open = open_interval(task);
  if (open && open->range == range) return;
  if (open) open->end_s = now;
  if (range.count > 0) intervals.push_back({task, range, now, -1, predicted_step_s, 0});
}

void ShareRecord::measure(const std::string& task, std::int64_t num_completed, double step_s) {
  progress[task].num_completed = num_completed;
  ShareInterval* open = open_interval(task);
  if (open && step_s > 0) open->measured_step_s = step_s;
}

void ShareRecord::keep(bool is_change, const ShareKept& decision) {
  const bool is_new = is_changed_ || kept.empty() || kept.back().reason != decision.reason;
  is_changed_ = is_change;
  if (!is_change && is_new && !decision.reason.empty()) kept.push_back(decision);
}

void ShareRecord::begin(int ranks) {
  num_ranks = num_ranks == 0 || num_ranks == ranks ? ranks : kSeveral;
}

void ShareRecord::close(double now) {
  for (ShareInterval& interval : intervals)
    if (interval.end_s < 0) interval.end_s = now;
}

namespace {

Table table_of(const std::vector<ShareInterval>& list) {
  Table intervals;
  intervals.text["task"];
  intervals.integers = {{"first_rank", {}}, {"ranks", {}}};
  intervals.reals = {{"start_s", {}}, {"end_s", {}}, {"predicted_step_s", {}}, {"measured_step_s", {}}};
  for (const ShareInterval& interval : list) {
    intervals.text["task"].push_back(interval.task);
    intervals.integers["first_rank"].push_back(interval.range.first);
    intervals.integers["ranks"].push_back(interval.range.count);
    intervals.reals["start_s"].push_back(interval.start_s);
    intervals.reals["end_s"].push_back(interval.end_s);
    intervals.reals["predicted_step_s"].push_back(interval.predicted_step_s);
    intervals.reals["measured_step_s"].push_back(interval.measured_step_s);
  }
  return intervals;
}

Table table_of(const std::vector<ShareChange>& changes) {
  Table decisions;
  decisions.text = {{"task", {}}, {"reason", {}}};
  decisions.integers = {{"from", {}}, {"to", {}}};
  decisions.reals = {{"time_s", {}}, {"predicted_gain", {}}, {"cost_s", {}}};
  for (const ShareChange& change : changes) {
    decisions.text["task"].push_back(change.task);
    decisions.text["reason"].push_back(change.reason);
    decisions.integers["from"].push_back(change.from);
    decisions.integers["to"].push_back(change.to);
    decisions.reals["time_s"].push_back(change.time_s);
    decisions.reals["predicted_gain"].push_back(change.predicted_gain);
    decisions.reals["cost_s"].push_back(change.cost_s);
  }
  return decisions;
}

Table table_of(const std::vector<ShareKept>& list) {
  Table table;
  table.text = {{"reason", {}}};
  table.reals = {{"time_s", {}}, {"predicted_gain", {}}, {"cost_s", {}}};
  for (const ShareKept& kept : list) {
    table.text["reason"].push_back(kept.reason);
    table.reals["time_s"].push_back(kept.time_s);
    table.reals["predicted_gain"].push_back(kept.predicted_gain);
    table.reals["cost_s"].push_back(kept.cost_s);
  }
  return table;
}

Table table_of(const std::vector<ShareBaseline>& baselines) {
  Table table;
  table.text = {{"policy", {}}, {"reason", {}}};
  table.reals = {{"predicted_s", {}}, {"low_s", {}}, {"high_s", {}}};
  for (const ShareBaseline& baseline : baselines) {
    table.text["policy"].push_back(baseline.policy);
    table.text["reason"].push_back(baseline.reason);
    table.reals["predicted_s"].push_back(baseline.predicted_s);
    table.reals["low_s"].push_back(baseline.low_s);
    table.reals["high_s"].push_back(baseline.high_s);
  }
  return table;
}

Json json_of(const std::map<std::string, ShareProgress>& progress) {
  Json json = Json::object();
  for (const auto& [task, of_task] : progress)
    json[task] = {{"arrived_s", of_task.arrived_s}, {"completed_steps", of_task.num_completed}};
  return json;
}

/// Older records lack them: what they leave unknown is no reason to lose the rest.
void read_progress(const nlohmann::json& json, ShareRecord& record) {
  record.num_ranks = json.value("ranks", record.intervals.empty() ? 0 : ShareRecord::kSeveral);
  if (!json.contains("tasks")) return;
  for (const auto& [task, of_task] : json.at("tasks").items())
    record.progress[task] = {of_task.at("arrived_s").get<double>(), of_task.at("completed_steps").get<std::int64_t>()};
}

}  // namespace

TableGroup allocation_group(const ShareRecord& record, const std::vector<ShareBaseline>& baselines,
                            const std::string& policy, const std::string& objective) {
  TableGroup group{schema::kAllocation, {{"policy", policy}, {"objective", objective}}, {}};
  group.tables["intervals"] = table_of(record.intervals);
  group.tables["decisions"] = table_of(record.changes);
  group.tables["kept"] = table_of(record.kept);
  group.tables["baselines"] = table_of(baselines);
  return group;
}

bool is_share_record(const std::string& path) {
  return content_says(path, "{", kFormat);
}

void write_share_record(const std::string& path, const ShareRecord& record, double now) {
  const Json json{{"format", kFormat},
                  {"version", 1},
                  {"elapsed_s", now},
                  {"ranks", record.num_ranks},
                  {"tasks", json_of(record.progress)},
                  {"intervals", list_of(record.intervals)},
                  {"changes", list_of(record.changes)},
                  {"kept", list_of(record.kept)},
                  {"arrivals", list_of(record.arrivals)}};
  write_file(path, json_text(json, 1) + "\n");
}

ShareRecord read_share_record(const std::string& path) {
  const std::string problem = fmt::format("{} is damaged", path);
  const std::string cure = "Delete it: the tasks resume all the same, without the history and the tasks that arrived.";
  const auto json = parse_json_object<nlohmann::json>(read_file(path), problem, cure);
  ShareRecord record;
  try {
    if (json.at("format") != kFormat || json.at("version") != 1)
      throw DataError(problem, "it is not of this version of multicard", cure);
    record.elapsed_s = json.at("elapsed_s").get<double>();
    for (const auto& entry : json.at("intervals"))
      record.intervals.push_back(interval_of(entry));
    for (const auto& entry : json.at("changes"))
      record.changes.push_back(change_of(entry));
    for (const auto& entry : json.value("kept", nlohmann::json::array()))  // older records lack them
      record.kept.push_back(kept_of(entry));
    for (const auto& entry : json.at("arrivals"))
      record.arrivals.push_back(arrival_of(entry));
    read_progress(json, record);
  } catch (const nlohmann::json::exception&) {
    throw DataError(problem, "a value is missing or of another type", cure);
  }
  record.close(record.elapsed_s);
  return record;
}

}  // namespace multicard
