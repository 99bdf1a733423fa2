#include <exception>

#include "base/Log.hpp"
#include "base/RegularFile.hpp"
#include "comm/AbortRemovals.hpp"
#include "comm/LibraryEnds.hpp"
#include "comm/Native.hpp"
#include "io/Hdf5State.hpp"

namespace multicard {

namespace {

const std::string kNothing;

Hdf5Id access_properties(const Communicator& communicator) {
  Hdf5Id properties(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // By default the library keeps a file open as long as anything in it is, a dataset in use, say.
  H5Pset_fclose_degree(properties, H5F_CLOSE_STRONG);
  // Attributes above 64 KiB (a long deck) need the newer format.
  H5Pset_libver_bounds(properties, H5F_LIBVER_V18, H5F_LIBVER_LATEST);
  H5Pset_alignment(properties, kAlignment, kAlignment);
  if (!communicator.is_null()) {
    H5Pset_fapl_mpio(properties, native(communicator), MPI_INFO_NULL);
    // By default each rank would read all metadata by itself: R times the same small reads at every opening.
    H5Pset_all_coll_metadata_ops(properties, true);
    H5Pset_coll_metadata_write(properties, true);
  }
  return properties;
}

std::shared_ptr<Hdf5FileState> new_state(const std::string& path, const Communicator& communicator,
                                         const Hdf5Options& options) {
  auto state = std::make_shared<Hdf5FileState>();
  state->path = path;
  if (communicator.size() > 1) state->communicator = communicator;
  state->options = options;
  state->exceptions_at_open = std::uncaught_exceptions();
  return state;
}

/// Sets state.id by `open`, on all ranks or none.
template <class Open>
void open_together(Hdf5FileState& state, const char* verb, Open&& open) {
  const Watchdog::LongerTimeout longer_timeout(state.communicator.watchdog(), kDiskTimeoutS);
  state.agree([&] {
    const Watchdog::Guard guard(state.communicator.watchdog(), verb);
    const Hdf5Lock lock;
    const Hdf5Id access = access_properties(state.communicator);
    state.id = checked(open(access), state.operation(verb, kNothing));
  });
}

std::shared_ptr<Hdf5FileState> open_existing(const std::string& path, const Communicator& communicator,
                                             const Hdf5Options& options, unsigned mode) {
  auto state = new_state(path, communicator, options);
  state->agree([&] {
    // Before the library opens the path: it would wait for the writer of a pipe, and says little of a folder.
    const RegularFile file(path);
    if (mode == H5F_ACC_RDONLY) state->bytes_at_open = file.size();
  });
  open_together(*state, "opening", [&](hid_t access) { return H5Fopen(path.c_str(), mode, access); });
  return state;
}

void begin_writing(Hdf5FileState& state) {
  state.agree([&] {
    if (!state.communicator.is_root()) return;
    // On one rank, through a descriptor of its own that the library does not know.
    state.space = std::make_unique<ReservedSpace>(state.path);
    state.end = RegularFile(state.path).size();
  });
  state.reserve_more(0);
}

}  // namespace

Hdf5File Hdf5File::create(const std::string& path, const Communicator& communicator, Hdf5Options options) {
  auto state = new_state(path, communicator, options);
  open_together(*state, "creating", [&](hid_t access) {
    const Hdf5Id properties = timeless(H5P_FILE_CREATE);
    const CreationGuard guard;
    return H5Fcreate(path.c_str(), H5F_ACC_TRUNC, properties, access);
  });
  // An object before space is reserved: if that fails, its destructor closes the file.
  Hdf5File file(std::move(state));
  begin_writing(*file.state_);
  return file;
}

Hdf5File Hdf5File::open_read(const std::string& path, const Communicator& communicator, Hdf5Options options) {
  Hdf5File file(open_existing(path, communicator, options, H5F_ACC_RDONLY));
  file.state_->together("checking", [&] { check_structure(*file.state_); });
  return file;
}

Hdf5File Hdf5File::open_update(const std::string& path, const Communicator& communicator, Hdf5Options options) {
  Hdf5File file(open_existing(path, communicator, options, H5F_ACC_RDWR));
  begin_writing(*file.state_);
  return file;
}

Hdf5File& Hdf5File::operator=(Hdf5File&& other) noexcept {
  // The file that was held here is closed with `other`, which is collective, too.
  std::swap(state_, other.state_);
  return *this;
}

Hdf5File::~Hdf5File() {
  if (!state_ || state_->id < 0) return;
  // An error that only this rank knows of must reach the top, which aborts the job; closing would wait for the others.
  const bool leaves_alone = std::uncaught_exceptions() > state_->exceptions_at_open && !state_->failed_together;
  if (state_->is_parallel() && leaves_alone) return;
  try {
    close();
  } catch (const std::exception& error) {
    log_local_error(error.what());
  }
}

const std::string& Hdf5File::path() const {
  return state_->path;
}

bool Hdf5File::is_writer() const {
  return state_->communicator.is_root();
}

void Hdf5File::close() {
  if (state_->id < 0) return;
  const auto body = [&] {
    // Never twice: after a failure the library crashes at a second attempt, also at its own end (comm/LibraryEnds.hpp).
    const hid_t id = std::exchange(state_->id, -1);
    const herr_t closed = H5Fclose(id);
    if (closed < 0) skip_ends_of_libraries();
    checked(closed, state_->operation("closing", kNothing));
    if (state_->space) state_->space->release();
  };
  state_->together("closing", body);
}

}  // namespace multicard
