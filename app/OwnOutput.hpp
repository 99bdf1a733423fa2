#pragma once
/// \file Output folders: what a command may use, and what run.resume=never removes (docs/reliability.md, Files that are
/// not the program's). For one process; nothing here touches what the program did not write.

#include <set>
#include <string>

#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// \throws UsageError that names a file, folder or link of others where the results of a run would be
void require_own_results(const std::string& file);
/// The same for everything that a run keeps in its output folder besides the results.
void require_own_output(const RunOptions& options);
/// The same for the tasks and the record of a share.
void require_own_share(const std::string& output);

/// Removes checkpoints, records and results of a run.
void clear_output(const std::string& output);
/// Removes the results, the record and the tasks of a share, also those that the deck no longer has. \param held tasks
/// whose folders this process holds \throws UsageError when a run is writing into the folder of another
void clear_share(const std::string& output, const std::set<std::string>& held);

/// \throws UsageError when the results are another command's, which a share would replace
void require_results_of_share(const std::string& output);

}  // namespace multicard
