#include "device/NvidiaDriver.hpp"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace multicard {

namespace {

std::filesystem::path driver_folder() {
  const char* folder = std::getenv("MULTICARD_NVIDIA_PROC");
  return folder ? folder : "/proc/driver/nvidia";
}

}  // namespace

std::string driver_version_in(const std::string& line) {
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (std::isdigit(static_cast<unsigned char>(word[0])) && word.find('.') != std::string::npos) return word;
  return "";
}

std::string nvidia_driver_version() {
  std::ifstream file(driver_folder() / "version");
  std::string line;
  std::getline(file, line);
  return driver_version_in(line);
}

int num_gpus_of_machine() {
  // Of the kernel module, not of CUDA: it knows GPUs that CUDA_VISIBLE_DEVICES or a container hides from this process.
  if (nvidia_driver_version().empty()) return 0;
  std::error_code error;
  int number = 0;
  for (auto gpu = std::filesystem::directory_iterator(driver_folder() / "gpus", error);
       !error && gpu != std::filesystem::directory_iterator(); gpu.increment(error))
    ++number;
  // Some containers show the version alone.
  return error ? 1 : number;
}

}  // namespace multicard
