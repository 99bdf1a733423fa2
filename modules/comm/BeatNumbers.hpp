#pragma once
/// \file A few numbers that each rank sends to rank 0 with its heartbeat, once a second: no rank waits for them.

#include <array>
#include <cstddef>
#include <map>

namespace multicard {

/// What they mean is agreed between those who set and those who read them.
using BeatNumbers = std::array<double, 8>;

/// What this rank sends from now on. Any thread.
void set_beat_numbers(const BeatNumbers& numbers);
/// What this rank would send.
BeatNumbers own_beat_numbers();

/// On rank 0: the newest of each other rank of the job that has set some; empty elsewhere. Any thread.
std::map<int, BeatNumbers> heard_beat_numbers();
/// For the heartbeat.
void note_beat_numbers(int rank, const BeatNumbers& numbers);

}  // namespace multicard
