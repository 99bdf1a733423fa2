#include "train/CheckpointRecords.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "io/AtomicFile.hpp"
#include "io/OwnFiles.hpp"
#include "results/ResultsReader.hpp"

namespace multicard {

namespace fs = std::filesystem;

std::string records_folder(const std::string& output) {
  return output + "/records";
}

std::string records_file(const std::string& output, std::int64_t step) {
  return fmt::format("{}/step_{:08}.h5", records_folder(output), step);
}

namespace {

bool names_records(const std::string& path) {
  const fs::path file(path);
  const std::string stem = file.stem().string();
  return file.extension() == ".h5" && stem.starts_with("step_") && stem.size() > 5 &&
         stem.find_first_not_of("0123456789", 5) == std::string::npos;
}

bool is_records_file(const std::string& path) {
  return names_records(path) && is_results_file(path);
}

void remove_abandoned_records(const std::string& output) {
  for (const std::string& name : names_in(records_folder(output)))
    if (const auto temporary = parse_temporary(name); temporary && names_records(temporary->final_name))
      remove_abandoned(records_folder(output) + "/" + temporary->final_name);
}

}  // namespace

void remove_records(const std::string& output) {
  remove_abandoned_records(output);
  remove_own_files(records_folder(output), is_records_file);
}

void require_own_records(const std::string& output) {
  require_own_folder(records_folder(output), "records of checkpoints", is_records_file);
  if (is_marked(records_folder(output))) return;  // damaged ones are no reason to refuse: they are left alone
  for (const std::string& name : names_in(records_folder(output)))
    if (const std::string path = records_folder(output) + "/" + name; names_records(path) && !is_records_file(path))
      refuse_foreign(path, "records of a checkpoint");
}

void remove_stale_records(const std::string& output) {
  const fs::path folder(output);
  remove_abandoned_records(output);
  for (const std::string& name : names_in(records_folder(output))) {
    const fs::path path = fs::path(records_folder(output)) / name;
    std::error_code ignored;
    const fs::file_status checkpoint = fs::status(folder / "checkpoints" / path.stem() / "COMPLETE", ignored);
    if (is_records_file(path.string()) && checkpoint.type() == fs::file_type::not_found) remove_own_file(path.string());
  }
}

}  // namespace multicard
