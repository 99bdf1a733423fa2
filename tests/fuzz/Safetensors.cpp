// Tensor files of models, adapters and checkpoints.
#include "io/Safetensors.hpp"

#include <cstddef>

#include "fuzz/Target.hpp"

namespace multicard::fuzz {

const std::vector<ExitCode> kDocumentedCodes{ExitCode::data};

void read(std::string_view input) {
  const SafetensorsFile file(scratch_file("model.safetensors", input));
  std::size_t num_bytes = 0;
  volatile std::byte seen{};  // all bytes can be read
  for (const SafetensorsEntry& entry : file.entries()) {
    require(file.find(entry.name) != nullptr, "an entry is not found by its name");
    require(safetensors_num_bytes(entry.dtype, entry.shape) == entry.bytes.size(), "a tensor has other bytes");
    for (const std::byte byte : entry.bytes)
      seen = byte;
    num_bytes += entry.bytes.size();
  }
  require(num_bytes <= input.size(), "the tensors are larger than the file");
  file.at("weight");
}

}  // namespace multicard::fuzz
