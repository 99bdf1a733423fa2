#include "tasks/interface/TaskScan.hpp"

namespace multicard {

namespace {

bool root_has(bool mine, const Communicator& communicator, int root) {
  return communicator.broadcast_value(mine ? 1 : 0, root) > 0;
}

void share_images(std::shared_ptr<const ImageSetScan>& scan, const Communicator& communicator, int root) {
  if (root_has(scan != nullptr, communicator, root)) scan = broadcast(scan, communicator, root);
}

// Whether an optional part is there is known to root alone, and decides which collectives follow: root says so first.
void share_text(std::optional<TextSetScan>& scan, const Communicator& communicator, int root) {
  if (!root_has(scan.has_value(), communicator, root)) return;
  const TextSetScan mine = scan.value_or(TextSetScan{});
  TextSetScan whole;
  whole.tokens = broadcast(mine.tokens, communicator, root);
  if (root_has(mine.rejected != nullptr, communicator, root))
    whole.rejected = broadcast(mine.rejected, communicator, root);
  whole.rows = TextRows::broadcast(mine.rows, communicator, root);
  scan = std::move(whole);
}

}  // namespace

void share(TaskScan& scan, const Communicator& communicator, int root) {
  if (communicator.allreduce(scan.is_empty() ? 1 : 0, ReduceOp::max) == 0) return;
  share_images(scan.training_images, communicator, root);
  share_images(scan.test_images, communicator, root);
  share_text(scan.training_text, communicator, root);
  share_text(scan.test_text, communicator, root);
}

}  // namespace multicard
