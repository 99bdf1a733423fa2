#include "Installation.hpp"

#include <cstdlib>

namespace multicard {

namespace fs = std::filesystem;

namespace {

/// By a deck that every set of them has: a folder of that name alone may be anyone's.
bool has_decks(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "image/tiny.yaml", ignored);
}

}  // namespace

std::optional<fs::path> inputs_folder() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  // PREFIX/libexec/multicard/multicard, TREE/build/release/bin/multicard, BUNDLE/bin/multicard.
  constexpr int kMostLevels = 5;
  fs::path folder = program.parent_path();
  for (int level = 0; !failed && level < kMostLevels && folder != folder.root_path(); ++level) {
    for (const char* below : {"share/multicard/inputs", "inputs"})
      if (has_decks(folder / below)) return folder / below;
    folder = folder.parent_path();
  }
  const char* root = std::getenv("MULTICARD_ROOT");
  if (root != nullptr && has_decks(fs::path(root) / "inputs")) return fs::path(root) / "inputs";
  return std::nullopt;
}

}  // namespace multicard
