#pragma once
/// \file The inside of a Communicator; for modules/comm only.

#include <memory>

#include <mpi.h>

#include "comm/Communicator.hpp"
#include "comm/Watchdog.hpp"

namespace multicard {

struct Communicator::Impl {
  MPI_Comm handle = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  bool owned = false;
  std::shared_ptr<Watchdog> watchdog;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();
};

}  // namespace multicard
