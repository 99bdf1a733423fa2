#pragma once
/// \file The MPI handle inside a Communicator, for the .cpp files of io and dist only.

#include <string>

#include <mpi.h>

#include "comm/Communicator.hpp"

namespace multicard {

/// MPI_COMM_SELF for the null communicator when MPI runs, else MPI_COMM_NULL.
MPI_Comm native(const Communicator& communicator);

/// MPI's own text for an error code.
std::string mpi_error_text(int code);

/// Throws CommunicationError naming `call` and MPI's own text unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// No single transfer above this: larger ones fail or crash in MPI-IO and in some transports.
inline constexpr std::size_t kMaxTransferBytes = std::size_t{1} << 30;

}  // namespace multicard
