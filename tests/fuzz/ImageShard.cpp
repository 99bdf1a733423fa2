// Image shards, as training reads them.
#include "data/shards/ImageShards.hpp"
#include "fuzz/Child.hpp"
#include "fuzz/Target.hpp"

namespace multicard::fuzz {

const std::vector<ExitCode> kDocumentedCodes{ExitCode::data};

void read(std::string_view input) {
  const std::string path = scratch_file("train.h5", input);
  for (const ReadMethod method : {ReadMethod::hdf5, ReadMethod::pread})
    in_child([&] {
      const ImageShards shards(path, Communicator::null(), {}, {method, KeepRows::no});
      require(static_cast<std::int64_t>(shards.labels().size()) == shards.info().num_rows, "a row has no label");
      if (shards.info().num_rows == 0) return;
      const std::vector<std::int64_t> rows{0, shards.info().num_rows - 1};
      std::vector<std::uint8_t> pixels(2 * static_cast<std::size_t>(shards.bytes_per_row()));
      shards.read_rows(rows, pixels);
    });
}

}  // namespace multicard::fuzz
