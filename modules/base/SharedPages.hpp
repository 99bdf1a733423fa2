#pragma once
/// \file Memory that several processes map, for each process to count what is its own.

#include <cstdint>

namespace multicard {

/// This process maps shared memory: `own` bytes count as its own, `others` as those of other processes that map them
/// as well. Negative numbers when it is unmapped. Thread-safe.
void count_shared_pages(std::int64_t own, std::int64_t others);

/// Bytes in the resident set of this process that count as those of others; too few rather than too many while pages
/// of its own have not been touched. 0 where the kernel does not say what is shared (RssShmem, Linux 4.5).
std::int64_t resident_bytes_of_others();

}  // namespace multicard
