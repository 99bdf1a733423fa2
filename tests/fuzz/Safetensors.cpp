// Tensor files of models, adapters and checkpoints.
#include "io/Safetensors.hpp"

#include <algorithm>
#include <cstddef>

#include "fuzz/Target.hpp"

namespace multicard::fuzz {

const std::vector<ExitCode> kDocumentedCodes{ExitCode::data};

void read(std::string_view input) {
  const SafetensorsFile file(scratch_file("model.safetensors", input));
  std::size_t num_bytes = 0, num_zeros = 0;
  for (const SafetensorsEntry& entry : file.entries()) {
    require(file.find(entry.name) != nullptr, "an entry is not found by its name");
    require(safetensors_num_bytes(entry.dtype, entry.shape) == entry.bytes.size(), "a tensor has other bytes");
    num_zeros += static_cast<std::size_t>(std::count(entry.bytes.begin(), entry.bytes.end(), std::byte{0}));
    num_bytes += entry.bytes.size();
  }
  require(num_zeros <= num_bytes, "not all bytes can be read");
  require(num_bytes <= input.size(), "the tensors are larger than the file");
  file.at("weight");
}

}  // namespace multicard::fuzz
