#pragma once
/// \file What the operating system says about this process and this machine.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace multicard {

std::string host_name();
/// Whether a process of this machine has that number and has not ended: one that only waits for its parent to take
/// note of its end (a zombie) has.
bool is_running(std::int64_t process);
/// "Linux 6.1.0-37-amd64"
std::string kernel_version();
/// The model name of /proc/cpuinfo.
std::string cpu_model();
/// Processors this process may run on (its affinity mask), at least 1.
int available_cpus();
/// The affinity mask as a list, e.g. "0-3,8".
std::string cpu_set_text();
/// Gives freed memory back and counts the largest resident set again, where the kernel allows.
void reset_peak_resident_bytes();
/// Largest resident set so far, or since it was reset, without the memory of other ranks that this one maps now.
std::int64_t peak_resident_bytes();
/// Resident set now, without the memory of other ranks (base/SharedPages.hpp).
std::int64_t resident_bytes();
/// Memory that new allocations of this machine can still take: MemAvailable, or what the control group leaves.
std::int64_t available_memory_bytes();
/// Environment variables whose names start with one of `prefixes` and do not speak of secrets (base/Secrets.hpp), by
/// name.
std::map<std::string, std::string> environment_with(const std::vector<std::string>& prefixes);

/// Keeps freed memory in the process instead of returning it to the system: a training step frees and allocates the
/// same large blocks again and again, and faulting them in again costs more than half of a step at 224 px
/// (docs/performance.md). Call once, before the first large allocation.
void keep_freed_memory();

}  // namespace multicard
