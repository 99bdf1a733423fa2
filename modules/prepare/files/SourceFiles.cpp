#include "prepare/files/SourceFiles.hpp"

#include <fmt/format.h>

#include "base/Blocks.hpp"
#include "comm/LongWork.hpp"
#include "io/Bytes.hpp"
#include "io/Sha256.hpp"

namespace multicard {

// The lines come together in the order of the files, since blocks of ranks are consecutive: the hash does not depend on
// the number of ranks, and `sha256sum FILES | sha256sum` in their folder gives it by hand.
std::string hash_files(const std::vector<SourceFile>& files, const Communicator& communicator) {
  const Block mine = block_of(static_cast<std::int64_t>(files.size()), communicator.rank(), communicator.size());
  std::string my_lines;
  agreed_after_long_work(communicator, [&] {
    for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
      const SourceFile& file = files[static_cast<std::size_t>(i)];
      my_lines += fmt::format("{}  {}\n", sha256_of_file(file.path), file.name);
    }
  });
  std::string all;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const std::string lines = communicator.broadcast(my_lines, rank);
    if (communicator.is_root()) all += lines;
  }
  return communicator.broadcast(sha256(all));
}

}  // namespace multicard
