// Stands in for libFuzzer's main where there is none: gives every file of the folder named on the command line to the
// target once, in the memory that a fuzzed input may take.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <sys/resource.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

#ifdef __SANITIZE_ADDRESS__
constexpr rlim_t kMemory = RLIM_INFINITY;  // the sanitizer's own is larger than any bound
#else
constexpr rlim_t kMemory = 1 << 30;
#endif

int main(int count, char** arguments) {
  namespace fs = std::filesystem;
  if (count != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER\n", arguments[0]);
    return 2;
  }
  const rlimit memory{kMemory, kMemory};
  setrlimit(RLIMIT_DATA, &memory);
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(arguments[1]))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& path : files) {
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);
    std::ifstream file(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
  }
  return files.empty() ? 1 : 0;
}
