#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "Checklist.hpp"
#include "Commands.hpp"
#include "FileSpeed.hpp"
#include "SelfTest.hpp"
#include "base/BuildInfo.hpp"
#include "base/JsonText.hpp"
#include "base/RegularFile.hpp"
#include "base/StandardOutput.hpp"
#include "base/System.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "comm/Mpi.hpp"
#include "config/Smoke.hpp"
#include "device/Gpu.hpp"
#include "dist/LinkSpeed.hpp"
#include "io/Hdf5.hpp"
#include "tasks/setup/DeckBroadcast.hpp"

namespace multicard {

namespace {

using Json = nlohmann::ordered_json;

Json describe_gpus() {
  Json gpus = Json::array();
  // Of this rank: a launcher may show each one other GPUs, with indices of their own.
  const std::vector<GpuInfo> visible = visible_gpus();
  for (const GpuInfo& gpu : visible) {
    Json peers = Json::array();
    for (const GpuInfo& other : visible)
      if (other.index != gpu.index && peer_access(gpu.index, other.index)) peers.push_back(other.index);
    gpus.push_back({{"index", gpu.index},
                    {"name", gpu.name},
                    {"bus_id", gpu.bus_id},
                    {"uuid", gpu.uuid},
                    {"numa_node", gpu.numa_node},
                    {"memory_bytes", gpu.memory_bytes},
                    {"compute_capability", fmt::format("{}.{}", gpu.compute_major, gpu.compute_minor)},
                    {"peer_access", peers}});
  }
  return gpus;
}

Json describe_versions() {
  const BuildInfo build = build_info();
  const GpuSoftware software = gpu_software();
  return {{"multicard", build.version},
          {"git", build.git},
          {"compiler", build.compiler},
          {"flags", build.flags},
          {"libtorch", build.torch},
          {"gpu_path", gpu_path_compiled_in()},
          {"mpi", mpi_version()},
          {"hdf5", hdf5_version()},
          {"cuda_runtime", software.cuda_runtime},
          {"driver", software.driver},
          {"cuda_driver", software.cuda_driver},
          {"cudnn", software.cudnn},
          {"nccl", software.nccl}};
}

/// Collective.
Json describe_ranks(const Communicator& world, const Topology& topology, const DeviceChoice& device) {
  const Json mine = {{"rank", world.rank()},   {"host", host_name()},          {"local_rank", topology.local_rank},
                     {"cpus", cpu_set_text()}, {"device", device.description}, {"gpus", describe_gpus()}};
  Json ranks = Json::array();
  for (const std::string& text : world.allgather(json_text(mine)))
    ranks.push_back(Json::parse(text));
  return ranks;
}

Json describe(const AllReduceTime& time) {
  return {{"bytes", time.num_bytes},
          {"median_s", time.median_s},
          {"low_s", time.low_s},
          {"high_s", time.high_s},
          {"rounds", time.num_rounds}};
}

Json describe(const LinkSpeed& speed) {
  return {{"ranks", speed.num_ranks},
          {"latency", describe(speed.shortest)},
          {"bandwidth", describe(speed.longest)},
          {"bus_gb_per_s", 1e-9 * speed.longest.bus_bytes_per_s(speed.num_ranks)}};
}

/// Collective. By level; levels that the job does not have are absent.
Json describe_links(const Communicator& world, const Topology& topology, const DeviceChoice& device) {
  const LinkSpeeds speeds = measure_link_speeds(world, topology, device.device);
  Json levels = Json::object();
  if (speeds.within_node) levels["within_node"] = describe(*speeds.within_node);
  if (speeds.between_nodes) levels["between_nodes"] = describe(*speeds.between_nodes);
  return levels;
}

/// The folder that a run writes to, or the nearest above it that is there: its file system is the same.
std::string nearest_folder(std::filesystem::path folder) {
  while (!folder.empty() && !is_folder(folder.string()))
    folder = folder.parent_path();
  return folder.string();
}

Json describe(const FileSpeed& speed) {
  Json json = {{"write_gb_per_s", speed.write}};
  if (speed.read_cold) json["read_cold_gb_per_s"] = *speed.read_cold;
  json["read_warm_gb_per_s"] = speed.read_warm;
  return json;
}

/// Collective.
Json describe_file_system(const std::string& folder, const Communicator& world) {
  const FileSystemMeasure measure = measure_file_system(folder, world);
  Json json = {{"folder", measure.folder},
               {"bytes", measure.bytes},
               {"plain", describe(measure.plain)},
               {"hdf5_independent", describe(measure.independent)}};
  if (measure.collective) json["hdf5_collective"] = describe(*measure.collective);
  return json;
}

/// Collective.
Json self_test(const InfoArguments& arguments, const Communicator& world, const DeviceChoice& device) {
  RunOptions options;
  std::optional<std::string> shards;
  std::string folder;
  if (!arguments.deck.empty()) {
    const Deck deck = share_deck(world, arguments.deck, [&] { return load_run_deck(arguments.deck); });
    options = agreed(world, [&] { return read_run_options(deck); });
    shards = options.data.training_files().front();
    folder = world.broadcast(nearest_folder(options.run.output));
  }
  const AllReduceMeasure reduce = measure_all_reduce(options, world, device);
  const ShardReadMeasure read = measure_shard_read(shards, world);
  return {{"all_reduce",
           {{"backend", reduce.backend},
            {"payload_bytes", reduce.payload_bytes},
            {"median_s", reduce.median_s},
            {"bus_gb_per_s", reduce.bus_gb_per_s},
            {"correct", reduce.correct}}},
          {"shard_read",
           {{"source", read.source},
            {"rows", read.num_rows},
            {"bytes", read.num_bytes},
            {"seconds", read.seconds},
            {"gb_per_s", read.gb_per_s}}},
          {"file_system", describe_file_system(folder, world)}};
}

std::string gpu_text(const Json& gpu) {
  std::string peers;
  for (const Json& peer : gpu["peer_access"])
    peers += fmt::format(" {}", peer.get<int>());
  return fmt::format("    gpu {}  {}  bus {}  {}  NUMA {}  {}  peers:{}\n", gpu["index"].get<int>(),
                     gpu["name"].get<std::string>(), gpu["bus_id"].get<std::string>(), gpu["uuid"].get<std::string>(),
                     gpu["numa_node"].get<int>(), human_bytes(gpu["memory_bytes"].get<double>()),
                     peers.empty() ? " none" : peers);
}

std::string file_system_text(const Json& files) {
  const auto rate = [](const Json& speed, const char* name) {
    return speed.contains(name) ? significant(speed[name].get<double>(), 3) : "not measured";
  };
  std::string text = fmt::format("  files        {} in {}, GB/s over all ranks\n  {:<17}{:>9}{:>15}{:>11}\n",
                                 human_bytes(files["bytes"].get<double>()), files["folder"].get<std::string>(), "",
                                 "write", "read cold", "read warm");
  bool stays_cached = false;
  constexpr std::pair<const char*, const char*> kWays[] = {
      {"plain", "plain files"}, {"hdf5_independent", "HDF5"}, {"hdf5_collective", "HDF5, collective"}};
  for (const auto& [key, label] : kWays) {
    if (!files.contains(key)) continue;
    const Json& speed = files[key];
    text += fmt::format("    {:<17}{:>7}{:>15}{:>11}\n", label, rate(speed, "write_gb_per_s"),
                        rate(speed, "read_cold_gb_per_s"), rate(speed, "read_warm_gb_per_s"));
    stays_cached = stays_cached || !speed.contains("read_cold_gb_per_s");
  }
  if (stays_cached) text += "    read cold: not measured where files stay in the page cache of the system\n";
  return text;
}

std::string links_text(const Json& links) {
  std::string text = links.empty() ? "" : "links\n";
  for (const auto& [key, label] :
       {std::pair("within_node", "within a node"), std::pair("between_nodes", "between nodes")}) {
    if (!links.contains(key)) continue;
    const Json &level = links[key], &latency = level["latency"];
    const double rate = level["bus_gb_per_s"].get<double>(), median_s = level["bandwidth"]["median_s"].get<double>();
    const auto at = [&](const char* bound) { return rate * median_s / level["bandwidth"][bound].get<double>(); };
    const auto us = [&](const char* bound) { return significant(1e6 * latency[bound].get<double>(), 3); };
    text += fmt::format("  {:<15}{}: all-reduce of {} in {} us ({} to {}), {} GB/s ({} to {}) for {}\n", label,
                        counted(level["ranks"].get<int>(), "rank"), human_bytes(latency["bytes"].get<double>()),
                        us("median_s"), us("low_s"), us("high_s"), significant(rate, 3), significant(at("high_s"), 3),
                        significant(at("low_s"), 3), human_bytes(level["bandwidth"]["bytes"].get<double>()));
  }
  return text;
}

std::string info_text(const Json& info) {
  std::string text = "versions\n";
  for (const auto& [name, value] : info["versions"].items()) {
    const std::string version = value.is_string() ? value.get<std::string>() : json_text(value);
    if (version.empty()) continue;  // of a GPU's software where there is none
    text += fmt::format("  {:<13}{}\n", name, version);
  }
  text += fmt::format("ranks ({} on {})\n", info["ranks"].size(), counted(info["nodes"].get<int>(), "node"));
  for (const Json& rank : info["ranks"]) {
    text +=
        fmt::format("  {:<4}{}  local {}  cpus {}  {}\n", rank["rank"].get<int>(), rank["host"].get<std::string>(),
                    rank["local_rank"].get<int>(), rank["cpus"].get<std::string>(), rank["device"].get<std::string>());
    for (const Json& gpu : rank["gpus"])
      text += gpu_text(gpu);
  }
  text += links_text(info["links"]) + checks_text(info["checks"]);
  if (!info.contains("selftest")) return text;
  const Json& reduce = info["selftest"]["all_reduce"];
  const Json& read = info["selftest"]["shard_read"];
  text += fmt::format("self-test\n  all-reduce   {} of float32 by {}: {} ms, {} GB/s bus bandwidth, sums {}\n",
                      human_bytes(reduce["payload_bytes"].get<double>()), reduce["backend"].get<std::string>(),
                      significant(1e3 * reduce["median_s"].get<double>(), 3),
                      significant(reduce["bus_gb_per_s"].get<double>(), 3),
                      reduce["correct"].get<bool>() ? "correct" : "WRONG");
  text += fmt::format("  shard read   {} rows, {} from {}: {} GB/s\n", grouped(read["rows"].get<std::int64_t>()),
                      human_bytes(read["bytes"].get<double>()), read["source"].get<std::string>(),
                      significant(read["gb_per_s"].get<double>(), 3));
  return text + file_system_text(info["selftest"]["file_system"]);
}

}  // namespace

ExitCode info_command(const InfoArguments& arguments, const Communicator& world) {
  const Topology topology = find_topology(world);
  // More ranks than GPUs are told about, not refused.
  const DeviceChoice device = choose_device(DeviceRequest::automatic, ShareGpu::yes, world, topology);
  set_compute_threads(topology);
  Json info = {{"versions", describe_versions()},
               {"nodes", topology.num_nodes},
               {"ranks", describe_ranks(world, topology, device)},
               {"links", describe_links(world, topology, device)},
               {"checks", run_checks(world, topology, device)}};
  bool passed = true;
  if (arguments.selftest) {
    info["selftest"] = self_test(arguments, world, device);
    passed = info["selftest"]["all_reduce"]["correct"].get<bool>();
  }
  if (world.is_root()) print(arguments.json ? json_text(info, 2) + "\n" : info_text(info));
  // Printed first, failed afterwards: the numbers are what the error is about.
  if (!passed)
    throw CommunicationError("the all-reduce self-test gave wrong sums", "the transport corrupts data",
                             "Try another MPI transport or NCCL_P2P_DISABLE=1 and report it to the site.")
        .on_all_ranks();
  return ExitCode::complete;
}

}  // namespace multicard
