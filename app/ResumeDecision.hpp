#pragma once
/// \file Where a run begins: from scratch, at a checkpoint, or nowhere because it has finished.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/Communicator.hpp"
#include "config/Deck.hpp"
#include "io/FolderLock.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// Collective. Keeps other runs out of an output folder as long as rank 0 keeps what it gets (the others get nothing),
/// and removes what a killed one left of its results file.
/// \param check refuses, on rank 0, what in the folder is not the program's, before anything is removed or written
/// \throws UsageError when another run holds the folder.
std::unique_ptr<FolderLock> hold_output(const Communicator& world, const std::string& folder,
                                        const std::function<void()>& check);

struct ResumeDecision {
  bool finished = false;                  ///< nothing is left to do
  std::optional<std::string> checkpoint;  ///< to resume from
  std::string named;                      ///< what run.resume names, where `checkpoint` is a later one
  std::string warning;                    ///< what resuming changes; may be empty

  /// " (resuming from PATH)", or nothing.
  std::string text() const;
};

/// Collective. What run.resume means for the output folder (docs/checkpoints.md, Resuming a run).
/// \param deck with defaults written out
/// \param results the results file of the output folder
/// \throws UsageError when the folder holds another run, DataError when its newest checkpoint cannot be read, or when
/// what differs from that run names files that are not there.
ResumeDecision decide_resume(const Communicator& world, const RunOptions& options, const Deck& deck,
                             const std::string& results);

}  // namespace multicard
