#pragma once
/// \file Communicators for messages that may never be read.

#include "comm/Communicator.hpp"

namespace multicard {

/// A duplicate of `all` that lives until MPI ends; collective. Once a communicator is freed, MPI may reuse its context,
/// and its successor would receive the messages that were never read. Communicator::null() where `all` has one rank.
const Communicator& lasting_duplicate(const Communicator& all);

}  // namespace multicard
