#include "dist/CommDtypeAllReduce.hpp"

#include "dist/CommDtypeCodec.hpp"

namespace multicard {

void CommDtypeAllReduce::all_reduce(float* values, std::size_t count, CommDtype comm_dtype) {
  const CommDtypeCodec codec = codec_of(comm_dtype);
  words_.resize(count);
  codec.pack(values, words_.data(), count);
  all_reduce(words_.data(), count, comm_dtype);
  codec.unpack(words_.data(), values, count);
}

void CommDtypeAllReduce::all_reduce(std::uint16_t* words, std::size_t count, CommDtype comm_dtype) {
  const CommDtypeCodec codec = codec_of(comm_dtype);
  const auto words_at = [](std::byte* bytes) { return reinterpret_cast<std::uint16_t*>(bytes); };
  const auto add = [&](const std::vector<std::byte*>& sources, std::byte* target, std::size_t number) {
    total_.resize(number);
    one_.resize(number);
    codec.unpack(words_at(sources[0]), total_.data(), number);
    for (std::size_t r = 1; r < sources.size(); ++r) {
      codec.unpack(words_at(sources[r]), one_.data(), number);
      for (std::size_t i = 0; i < number; ++i)
        total_[i] += one_[i];
    }
    codec.pack(total_.data(), words_at(target), number);
  };
  words_all_reduce_.all_reduce(reinterpret_cast<std::byte*>(words), count, sizeof *words, add);
}

}  // namespace multicard
