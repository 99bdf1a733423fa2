#include "dist/CommDtypeAllReduce.hpp"

#include "comm/Native.hpp"
#include "dist/CommDtypeCodec.hpp"

namespace multicard {

namespace {

struct Parts {
  std::vector<int> counts, starts;
};

Parts equal_parts(std::size_t count, std::size_t num_parts) {
  Parts parts;
  for (std::size_t p = 0; p < num_parts; ++p) {
    parts.starts.push_back(static_cast<int>(count * p / num_parts));
    parts.counts.push_back(static_cast<int>(count * (p + 1) / num_parts) - parts.starts.back());
  }
  return parts;
}

Parts repeated(int count, std::size_t num_parts) {
  Parts parts;
  for (std::size_t p = 0; p < num_parts; ++p) {
    parts.counts.push_back(count);
    parts.starts.push_back(count * static_cast<int>(p));
  }
  return parts;
}

}  // namespace

void CommDtypeAllReduce::all_reduce(float* values, std::size_t count, CommDtype comm_dtype) {
  const CommDtypeCodec codec = codec_of(comm_dtype);
  words_.resize(count);
  codec.pack(values, words_.data(), count);
  all_reduce(words_.data(), count, comm_dtype);
  codec.unpack(words_.data(), values, count);
}

void CommDtypeAllReduce::all_reduce(std::uint16_t* words, std::size_t count, CommDtype comm_dtype) {
  // Offsets fit in int: the callers pass pieces of a few MB (NodeAllReduce). The own part takes the same way as the
  // others, so it is rounded like them, and the result does not depend on which rank adds.
  const CommDtypeCodec codec = codec_of(comm_dtype);
  const auto num_ranks = static_cast<std::size_t>(communicator_.size());
  const auto me = static_cast<std::size_t>(communicator_.rank());
  const Parts parts = equal_parts(count, num_ranks), incoming = repeated(parts.counts[me], num_ranks);
  const auto mine = static_cast<std::size_t>(parts.counts[me]);
  received_.resize(mine * num_ranks);
  total_.resize(mine);
  one_.resize(mine);

  call_mpi(MpiFunction::alltoallv, count * sizeof *words, [&] {
    return MPI_Alltoallv(words, parts.counts.data(), parts.starts.data(), MPI_UINT16_T, received_.data(),
                         incoming.counts.data(), incoming.starts.data(), MPI_UINT16_T, native(communicator_));
  });
  codec.unpack(received_.data(), total_.data(), mine);
  for (std::size_t r = 1; r < num_ranks; ++r) {
    codec.unpack(received_.data() + r * mine, one_.data(), mine);
    for (std::size_t i = 0; i < mine; ++i)
      total_[i] += one_[i];
  }
  codec.pack(total_.data(), words + parts.starts[me], mine);
  call_mpi(MpiFunction::allgatherv, mine * sizeof *words, [&] {
    return MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, words, parts.counts.data(), parts.starts.data(),
                          MPI_UINT16_T, native(communicator_));
  });
}

}  // namespace multicard
