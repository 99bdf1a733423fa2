#pragma once
// Token shards as tests need them, written without the program's own writer.

#include <string>
#include <vector>

#include "io/Hdf5.hpp"

namespace multicard::test {

struct Sequence {
  std::vector<std::uint32_t> tokens;
  std::vector<std::uint8_t> loss_mask;

  friend bool operator==(const Sequence&, const Sequence&) = default;
};

/// A sequence of consecutive ids from `first`; the last `num_targets` are targets.
inline Sequence counting(std::uint32_t first, std::size_t length, std::size_t num_targets) {
  Sequence sequence;
  for (std::size_t i = 0; i < length; ++i) {
    sequence.tokens.push_back(first + static_cast<std::uint32_t>(i));
    sequence.loss_mask.push_back(i + num_targets >= length ? 1 : 0);
  }
  return sequence;
}

inline void write_arrays(Hdf5File& file, const std::string& group, const std::vector<Sequence>& sequences) {
  std::vector<std::uint32_t> tokens;
  std::vector<std::uint8_t> mask;
  std::vector<std::uint64_t> offsets{0};
  for (const Sequence& sequence : sequences) {
    tokens.insert(tokens.end(), sequence.tokens.begin(), sequence.tokens.end());
    mask.insert(mask.end(), sequence.loss_mask.begin(), sequence.loss_mask.end());
    offsets.push_back(tokens.size());
  }
  file.write_values(group + "/tokens", tokens);
  file.write_values(group + "/loss_mask", mask);
  file.write_values(group + "/offsets", offsets);
}

/// A shard with the attributes of the contract and no others.
inline void write_attributes(Hdf5File& file) {
  file.write_attribute("/", "format", std::string("multicard-tokens"));
  file.write_attribute("/", "schema_version", std::int64_t{1});
  file.write_attribute("/", "tokenizer_sha256", std::string("abc"));
  file.write_attribute("/", "template", std::string("alpaca"));
  file.write_attribute("/", "dataset_type", std::string("alpaca"));
}

inline void write_shard(const std::string& path, const std::vector<Sequence>& sequences) {
  Hdf5File file = Hdf5File::create(path);
  write_arrays(file, "", sequences);
  write_attributes(file);
  file.close();
}

inline std::vector<Sequence> read_arrays(const Hdf5File& file, const std::string& group) {
  const auto tokens = file.read_values<std::uint32_t>(group + "/tokens");
  const auto mask = file.read_values<std::uint8_t>(group + "/loss_mask");
  const auto offsets = file.read_values<std::uint64_t>(group + "/offsets");
  std::vector<Sequence> sequences;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const auto begin = static_cast<std::ptrdiff_t>(offsets[i]), end = static_cast<std::ptrdiff_t>(offsets[i + 1]);
    sequences.push_back({{tokens.begin() + begin, tokens.begin() + end}, {mask.begin() + begin, mask.begin() + end}});
  }
  return sequences;
}

}  // namespace multicard::test
