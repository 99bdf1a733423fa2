#include "profiler/KinetoSession.hpp"

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <set>

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <malloc.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include "base/Error.hpp"
#include "profiler/KinetoTrace.hpp"

namespace multicard {

namespace {

namespace impl = torch::profiler::impl;
namespace kineto = torch::autograd::profiler;

std::set<impl::ActivityType> activities_of(at::Device device) {
  std::set<impl::ActivityType> activities{impl::ActivityType::CPU};
  if (device.is_cuda()) activities.insert(impl::ActivityType::CUDA);
  return activities;
}

impl::ProfilerConfig config_of(Shapes shapes) {
  impl::ExperimentalConfig experimental;
  // Threads must not be joined to a session one by one: the next one then has each of their events twice.
  experimental.profile_all_threads = true;
  experimental.expose_kineto_event_metadata = true;  // the bytes of copies
  return impl::ProfilerConfig(impl::ProfilerState::KINETO, shapes == Shapes::in_names, false, false, false, false,
                              experimental);
}

[[noreturn]] void refuse(const char* what, const std::exception& error) {
  throw EnvironmentError(std::string("the profile window cannot ") + what, error.what());
}

}  // namespace

void silence_kineto() {
  constexpr const char* kNoMessages = "99";
  setenv("KINETO_LOG_LEVEL", kNoMessages, /*overwrite=*/0);
}

KinetoSession::KinetoSession(at::Device device, Shapes shapes) : device_(device), shapes_(shapes) {
  try {
    const impl::ProfilerConfig config = config_of(shapes_);
    const std::set<impl::ActivityType> activities = activities_of(device_);
    kineto::prepareProfiler(config, activities);
    kineto::enableProfiler(config, activities);
  } catch (const std::exception& error) {
    refuse("open", error);
  }
  is_running_ = true;
}

KinetoSession::~KinetoSession() {
  if (!is_running_) return;
  try {
    kineto::disableProfiler();
  } catch (const std::exception&) {  // the run ends, and nothing of the profile is used
  }
}

KinetoTrace KinetoSession::stop() {
  KinetoTrace recorded;
  try {
    // Work that ends after the session would be missing. Where this fails, the destructor ends the session.
    if (device_.is_cuda()) c10::impl::getDeviceGuardImpl(device_.type())->synchronizeDevice(device_.index());
    is_running_ = false;
    const auto result = kineto::disableProfiler();
    recorded = trace_of(result->events(), shapes_);
  } catch (const std::exception& error) {
    refuse("close", error);
  }
  malloc_trim(0);  // 1.5 kB an event, which would stay the process's
  return recorded;
}

}  // namespace multicard
