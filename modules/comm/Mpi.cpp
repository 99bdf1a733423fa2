#include "comm/Mpi.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Number.hpp"
#include "base/Shown.hpp"
#include "base/System.hpp"
#include "base/Text.hpp"
#include "comm/AbortRemovals.hpp"
#include "comm/CommunicatorImpl.hpp"
#include "comm/Launch.hpp"
#include "comm/LauncherEnd.hpp"
#include "comm/Native.hpp"
#include "comm/Watchdog.hpp"

namespace multicard {

namespace {

/// For everything that no deck has a limit for. \throws UsageError
double default_timeout() {
  constexpr double kUsual = 300;
  const char* const text = std::getenv("MULTICARD_TIMEOUT_S");
  if (text == nullptr || *text == '\0') return kUsual;
  const std::optional<double> seconds = parse_number<double>(text);
  if (!seconds || !(*seconds > 0) || !std::isfinite(*seconds))
    throw UsageError(fmt::format("MULTICARD_TIMEOUT_S is {}", shown(text)), "it is a number of seconds above 0");
  return *seconds;
}

/// Settings that Open MPI and HDF5 read at start; what the user has set stays.
void set_launch_defaults() {
  setenv("OMPI_MCA_fs_ufs_lock_algorithm", "3", 0);  // 4.1.4 loses data in gapped collective writes without it
  setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0);       // network file systems often refuse locks
  const bool has_launcher = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr;
  if (has_launcher) return;
  // Started alone, a rank would first start a daemon, which only other ranks need: 0.15 s, and an error where there is
  // neither ssh nor rsh.
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  // Ranks without one have a single folder for their files together, which each would remove under the others. One rank
  // needs none.
  setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
  // Nor does it explain MPI_Abort, the end of all ranks, in eight lines.
  setenv("OMPI_MCA_orte_execute_quiet", "1", 0);
}

[[noreturn]] void give_up(const std::string& message) {
  log_local_error(message);
  abort_job(ExitCode::communication);
}

/// Ends this process alone, upon which the launcher ends the others: MPI_Abort needs an MPI that runs.
[[noreturn]] void end_process(const std::string& message) {
  log_local_error(message);
  end_launcher_later();
  std::_Exit(static_cast<int>(ExitCode::communication));
}

/// Before or after MPI is initialised.
void require_whole_world(const Launch& launch) {
  if (const auto error = why_started_apart(launch, mpi_version())) throw Error(*error);
}

// The order matters. What launchers say is read before MPI sets variables of its own. The first watchdog ends the
// process alone, as there is no MPI yet to end the job with. Ranks that MPI did not connect show only afterwards, as a
// world of one rank, hence the second require_whole_world().
Communicator initialise(int& argc, char**& argv, double timeout_s) {
  const Launch launch = read_launch(std::getenv);
  if (!launch.offers_connection) require_whole_world(launch);
  set_launch_defaults();
  int provided = 0;
  {
    Watchdog limit(timeout_s, [timeout_s](const std::string&) {
      end_process(
          fmt::format("MPI did not start within {} s (a rank or a node does not answer). Look for stopped "
                      "processes; MULTICARD_TIMEOUT_S sets the limit.",
                      timeout_s));
    });
    const Watchdog::Guard guard(&limit, "MPI_Init_thread");
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
      throw EnvironmentError("MPI could not be initialised");
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  auto impl = std::make_shared<Communicator::Impl>();
  impl->handle = MPI_COMM_WORLD;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &impl->rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &impl->size), "MPI_Comm_size");
  impl->watchdog = std::make_shared<Watchdog>(timeout_s, give_up);
  set_log_identity(impl->rank, impl->size, host_name());
  if (provided < MPI_THREAD_MULTIPLE)
    throw EnvironmentError("this MPI gives no full thread support",
                           fmt::format("MPI_THREAD_MULTIPLE was requested, level {} is provided", provided),
                           "Use an MPI built with thread support.");
  if (impl->size == 1) require_whole_world(launch);
  return Communicator(std::move(impl));
}

/// A barrier in which ranks sleep.
void meet(const Communicator& world) {
  MPI_Request all_came = MPI_REQUEST_NULL;
  if (MPI_Ibarrier(native(world), &all_came) != MPI_SUCCESS) return;
  for (int done = 0; MPI_Test(&all_came, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done;)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

constexpr const char* kNameNetwork =
    "Where nodes have several networks, name the one that joins them by its interface or subnet: mpirun --mca "
    "btl_tcp_if_include eth0 (or 10.0.0.0/24).";

/// The first collective of a job, in which ranks connect: returns the rank on its node. Says what to do where they do
/// not reach each other.
int make_contact(const Communicator& world) {
  const double long_s = std::min(20.0, world.watchdog()->limit() / 2);
  Watchdog warning(long_s, [long_s, is_root = world.is_root()](const std::string&) {
    if (is_root)
      log_warning(
          fmt::format("the ranks have not reached each other for {} s. {}", significant(long_s, 3), kNameNetwork));
  });
  const Watchdog::Guard guard(&warning, "making contact");
  try {
    return world.split_by_node().rank();
  } catch (const CommunicationError& error) {
    throw CommunicationError("the ranks cannot reach each other", error.problem(), kNameNetwork);
  }
}

int local_rank_of_job = 0;

}  // namespace

Mpi::Mpi(int& argc, char**& argv) : world_(initialise(argc, argv, default_timeout())) {
  local_rank_of_job = make_contact(world_);
  heartbeat_.emplace(world_, give_up);
}

// Ranks end at different times: some have nothing to do while others still write. They wait for each other asleep, and
// the heartbeats tell of one that stops meanwhile. Only then do they stop, and MPI_Finalize, which would wait for ever,
// has no more to wait for than that all come to it.
Mpi::~Mpi() {
  const double timeout_s = std::max(world_.watchdog()->limit(), kDiskTimeoutS);
  const int rank = world_.rank();
  meet(world_);
  heartbeat_.reset();
  std::optional<Watchdog> limit;
  try {
    limit.emplace(timeout_s, [rank, timeout_s](const std::string&) {
      end_process(fmt::format("rank {} could not end: MPI_Finalize did not return within {} s (a rank does not answer)",
                              rank, timeout_s));
    });
  } catch (const std::exception&) {
    // No thread can be started any more: the end has no limit.
  }
  const Watchdog::Guard guard(limit ? &*limit : nullptr, "MPI_Finalize");
  world_ = Communicator::null();
  MPI_Finalize();
}

int job_local_rank() {
  return local_rank_of_job;
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string version(text, static_cast<std::size_t>(length));
  return version.substr(0, version.find(','));
}

void abort_job(ExitCode code) {
  remove_for_abort();
  if (code == ExitCode::communication) end_launcher_later();
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  // _Exit, not exit: the destructors of static objects would run while other threads still use them.
  if (initialized && !finalized) MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

}  // namespace multicard
