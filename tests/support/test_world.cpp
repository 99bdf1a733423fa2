#include "support/test_world.hpp"

#include <cstdlib>

namespace multicard::test {

std::filesystem::path source_path(const std::string& relative) {
  const char* root = std::getenv("MULTICARD_SOURCE");
  return std::filesystem::path(root ? root : ".") / relative;
}

ScratchFolder::ScratchFolder() {
  std::string name;
  if (world().is_root()) {
    name = (std::filesystem::temp_directory_path() / "multicard-test-XXXXXX").string();
    if (!mkdtemp(name.data())) std::abort();
  }
  path_ = world().broadcast(name);
}

ScratchFolder::~ScratchFolder() {
  world().barrier();
  std::error_code ignored;
  if (world().is_root()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace multicard::test
