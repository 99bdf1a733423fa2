#include "Checklist.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/JsonText.hpp"
#include "base/System.hpp"
#include "base/Text.hpp"
#include "device/GpuChecks.hpp"

namespace multicard {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Check& check) {
  Json json = {{"name", check.name}, {"ok", nullptr}, {"found", check.found}};
  if (check.result != CheckResult::not_checked) json["ok"] = check.result == CheckResult::passed;
  if (check.result == CheckResult::failed) json["to_do"] = check.advice;
  return json;
}

/// What a rank reports to the others.
struct RankChecks {
  std::string who;
  std::string gpu;        ///< node and bus id of the GPU it computes on
  bool sees_gpu = false;  ///< it could compute on one
  Json checks = Json::array();
};

/// Collective.
std::vector<RankChecks> gather(const Communicator& world, const Topology& topology, const DeviceChoice& device) {
  // The node by its first rank: bus ids repeat from node to node, and so may host names.
  const int node = topology.node.allreduce(world.rank(), ReduceOp::min);
  Json mine = {{"who", fmt::format("rank {} on {}", world.rank(), host_name())},
               {"gpu", device.gpu ? fmt::format("{}/{}", node, device.gpu->bus_id) : ""},
               {"checks", Json::array()}};
  const GpuSituation situation = gpu_situation(device.gpu);
  mine["sees_gpu"] = !situation.gpus.empty();
  for (const Check& check : gpu_checks(situation))
    mine["checks"].push_back(to_json(check));
  std::vector<RankChecks> all;
  for (const std::string& text : world.allgather(json_text(mine))) {
    const Json one = Json::parse(text);
    all.push_back(
        {one["who"].get<std::string>(), one["gpu"].get<std::string>(), one["sees_gpu"].get<bool>(), one["checks"]});
  }
  return all;
}

/// The check at `index` of all ranks: of the first that fails, else that passes, else the first rank's.
Json join_ranks(const std::vector<RankChecks>& ranks, std::size_t index) {
  // All ranks have the same checks in the same order (gpu_checks), so that the place is enough. "ok" is null where
  // nothing was checked, which equals neither truth value.
  const RankChecks* shown = nullptr;
  for (const bool ok : {false, true})
    for (const RankChecks& rank : ranks)
      if (!shown && rank.checks[index]["ok"] == ok) shown = &rank;
  if (!shown) return ranks.front().checks[index];
  Json check = shown->checks[index];
  if (check["ok"] == false && ranks.size() > 1)
    check["found"] = fmt::format("{}: {}", shown->who, check["found"].get<std::string>());
  return check;
}

Json sharing_check(const std::vector<RankChecks>& ranks) {
  constexpr const char* name = "GPU per rank";
  const auto sees_one = [](const RankChecks& rank) { return rank.sees_gpu; };
  if (std::none_of(ranks.begin(), ranks.end(), sees_one)) return {{"name", name}, {"ok", nullptr}, {"found", "no GPU"}};
  if (const auto blind = std::find_if_not(ranks.begin(), ranks.end(), sees_one); blind != ranks.end())
    return {{"name", name},
            {"ok", false},
            {"found", blind->who + " sees none, others do: all compute on the CPU"},
            {"to_do", "Ask the batch system for as many GPUs on each node as it has ranks."}};
  // Sharing is allowed here and reported, where a run would refuse it.
  std::set<std::string> used;
  for (const RankChecks& rank : ranks)
    used.insert(rank.gpu);
  Json check = {{"name", name},
                {"ok", used.size() == ranks.size()},
                {"found", fmt::format("{} on {}", counted(ranks.size(), "rank"), counted(used.size(), "GPU"))}};
  if (used.size() < ranks.size())
    check["to_do"] = "Start as many ranks on a node as it has GPUs: what ranks on one GPU measure is not its speed.";
  return check;
}

}  // namespace

Json run_checks(const Communicator& world, const Topology& topology, const DeviceChoice& device) {
  const std::vector<RankChecks> ranks = gather(world, topology, device);
  Json checks = Json::array();
  for (std::size_t index = 0; index < ranks.front().checks.size(); ++index)
    checks.push_back(join_ranks(ranks, index));
  checks.push_back(sharing_check(ranks));
  return checks;
}

std::string checks_text(const Json& checks) {
  std::string text = "checks\n";
  for (const Json& check : checks) {
    const char* mark = check["ok"].is_null() ? "–" : check["ok"].get<bool>() ? "✓" : "✗";
    text += fmt::format("  {} {:<13}{}\n", mark, check["name"].get<std::string>(), check["found"].get<std::string>());
    if (check.contains("to_do")) text += fmt::format("    {:<13}{}\n", "", check["to_do"].get<std::string>());
  }
  return text;
}

}  // namespace multicard
