// Token shards, as training reads them.
#include "data/shards/TokenShards.hpp"
#include "fuzz/Child.hpp"
#include "fuzz/Target.hpp"

namespace multicard::fuzz {

const std::vector<ExitCode> kDocumentedCodes{ExitCode::data};

void read(std::string_view input) {
  const std::string path = scratch_file("train.h5", input);
  for (const TokenPart part : {TokenPart::sequences, TokenPart::chosen})
    in_child([&] {
      const TokenShards shards(path, Communicator::null(), {}, part);
      for (std::int64_t i = 0; i < std::min<std::int64_t>(shards.info().num_sequences, 8); ++i) {
        const auto length = static_cast<std::size_t>(shards.length(i));
        std::vector<std::uint32_t> tokens(length);
        std::vector<std::uint8_t> mask(length);
        shards.read(i, tokens, mask);
        require(shards.count_targets(i, shards.length(i)) == shards.num_targets(i), "targets are counted differently");
        shards.name_of(i);
      }
    });
}

}  // namespace multicard::fuzz
