#include "TestFolder.hpp"

#include <filesystem>

#include "comm/Agreement.hpp"

namespace multicard {

TestFolder::TestFolder(const std::string& parent, const Communicator& world) {
  const std::filesystem::path place(parent);
  agreed(world, [&] {
    if (!world.is_root()) return;
    folder_ = std::make_unique<PendingFolder>((place / "multicard-selftest").string());
    path_ = (place / std::filesystem::path(folder_->path()).filename()).string();
  });
  path_ = world.broadcast(path_);
}

}  // namespace multicard
