#include "fuzz/Target.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/Shown.hpp"

namespace multicard::fuzz {

namespace {

namespace fs = std::filesystem;

/// Problem, reason and suggestion with what stands between them.
constexpr std::size_t kLongestMessage = 3 * kLongestShown + 8;

void check_message(const std::string& message) {
  if (message.empty()) report_finding("an Error without a message");
  if (message.size() > kLongestMessage) report_finding(fmt::format("a message of {} bytes", message.size()));
  if (shown(message, message.size()) != message)
    report_finding(fmt::format("a message with invalid UTF-8 or control characters: {}", shown(message)));
}

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = fs::exists("/dev/shm") ? "/dev/shm/multicard-fuzz-XXXXXX" : "/tmp/multicard-fuzz-XXXXXX";
    if (!mkdtemp(pattern.data())) report_finding("no folder can be made: " + pattern);
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

void run(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    check_message(error.what());
    if (std::find(kDocumentedCodes.begin(), kDocumentedCodes.end(), error.code()) == kDocumentedCodes.end())
      report_finding(fmt::format("exit code {}: {}", static_cast<int>(error.code()), error.what()));
  } catch (const std::exception& error) {
    report_finding(fmt::format("{}: {}", typeid(error).name(), shown(error.what())));
  }
}

void report_finding(const std::string& what) {
  std::fprintf(stderr, "FINDING: %s\n", what.c_str());
  std::abort();
}

const std::string& scratch_folder() {
  static const ScratchFolder folder;
  return folder.path();
}

std::string scratch_file(const std::string& name, std::string_view content) {
  std::string path = scratch_folder() + "/" + name;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) report_finding("cannot write " + path);
  return path;
}

}  // namespace multicard::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  multicard::fuzz::run([&] { multicard::fuzz::read(input); });
  return 0;
}
