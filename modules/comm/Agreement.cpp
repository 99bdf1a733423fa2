#include "comm/Agreement.hpp"

#include <vector>

#include "base/AnyError.hpp"
#include "base/Text.hpp"

namespace multicard {

Error outcome_of(const std::exception& error) {
  Error found = as_error(error);
  // A defect is a mistake of the program: no rank can say in what state the others are, so it is not agreed on but
  // takes the whole job down (Scope::one_rank).
  if (found.code() == ExitCode::defect) throw;
  return found;
}

void agree_on(const Communicator& communicator, const std::optional<Error>& mine) {
  if (communicator.is_null()) {  // one rank of possibly many: the others know nothing of the error
    if (mine) throw Error(*mine);
    return;
  }
  // One number when all is well, which is the rule; the text is sent only after a failure. The smallest rank wins, so
  // that all ranks name the same cause even where several have failed for different reasons.
  const int none = communicator.size();
  const int first = communicator.allreduce(mine ? communicator.rank() : none, ReduceOp::min);
  if (first == none) return;
  // ASCII's unit separator: what is printable may stand in paths and values of decks, control characters are escaped by
  // Error itself.
  constexpr char kSeparator = '\x1f';
  std::string packed;
  if (communicator.rank() == first)
    packed = std::to_string(static_cast<int>(mine->code())) + kSeparator + mine->problem() + kSeparator + mine->why() +
             kSeparator + mine->suggestion();
  const std::vector<std::string> parts = split(communicator.broadcast(packed, first), kSeparator);
  throw Error(static_cast<ExitCode>(std::stoi(parts.at(0))), parts.at(1), parts.at(2), parts.at(3)).on_all_ranks();
}

}  // namespace multicard
