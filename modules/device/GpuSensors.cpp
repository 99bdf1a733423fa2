// The declarations of nvml.h that are needed: the header is a part of CUDA's toolkit, which a build may lack.
#include "device/GpuSensors.hpp"

#include <utility>

#include <dlfcn.h>

namespace multicard {

namespace {

constexpr int kSuccess = 0;
constexpr unsigned kSmClock = 1, kMemoryClock = 2;
constexpr unsigned kTemperatureOfGpu = 0;

struct Utilization {
  unsigned gpu, memory;  ///< per cent
};
struct MemoryInfo {
  unsigned long long total, free, used;
};

}  // namespace

struct GpuSensors::Library {
  explicit Library(void* opened) : handle(opened) {}
  ~Library() {
    if (is_initialised) shutdown();
    dlclose(handle);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <class Function>
  bool find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(dlsym(handle, name));
    return function != nullptr;
  }
  /// Sensors that this version of NVML lacks stay null.
  bool find_all() {
    find(utilization, "nvmlDeviceGetUtilizationRates");
    find(power_mw, "nvmlDeviceGetPowerUsage");
    find(energy_mj, "nvmlDeviceGetTotalEnergyConsumption");
    find(clock_mhz, "nvmlDeviceGetClockInfo");
    find(temperature, "nvmlDeviceGetTemperature");
    find(memory, "nvmlDeviceGetMemoryInfo");
    if (!find(throttle_reasons, "nvmlDeviceGetCurrentClocksEventReasons"))
      find(throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");  // its name before driver 535
    return find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") &&
           find(by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
  }

  void* handle;
  bool is_initialised = false;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*by_bus_id)(const char*, void**) = nullptr;
  int (*utilization)(void*, Utilization*) = nullptr;
  int (*power_mw)(void*, unsigned*) = nullptr;
  int (*energy_mj)(void*, unsigned long long*) = nullptr;
  int (*clock_mhz)(void*, unsigned, unsigned*) = nullptr;
  int (*temperature)(void*, unsigned, unsigned*) = nullptr;
  int (*memory)(void*, MemoryInfo*) = nullptr;
  int (*throttle_reasons)(void*, unsigned long long*) = nullptr;
};

GpuSensors::GpuSensors(std::unique_ptr<Library> library, void* device)
    : library_(std::move(library)), device_(device) {}

GpuSensors::~GpuSensors() = default;

std::unique_ptr<GpuSensors> GpuSensors::open(const std::string& bus_id) {
  void* const handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return nullptr;
  auto library = std::make_unique<Library>(handle);
  if (!library->find_all()) return nullptr;
  library->is_initialised = library->init() == kSuccess;
  void* device = nullptr;
  if (!library->is_initialised || library->by_bus_id(bus_id.c_str(), &device) != kSuccess) return nullptr;
  return std::unique_ptr<GpuSensors>(new GpuSensors(std::move(library), device));
}

GpuSensors::Reading GpuSensors::read() const {
  Reading reading;
  const auto put = [](std::map<std::string, double>& into, const char* name, auto value, double unit) {
    into[name] = unit * static_cast<double>(value);
  };
  const Library& nvml = *library_;
  unsigned number = 0;
  unsigned long long large = 0;
  if (Utilization busy{}; nvml.utilization && nvml.utilization(device_, &busy) == kSuccess) {
    put(reading.now, "gpu_busy", busy.gpu, 0.01);
    put(reading.now, "gpu_memory_busy", busy.memory, 0.01);
  }
  if (nvml.power_mw && nvml.power_mw(device_, &number) == kSuccess) put(reading.now, "gpu_power_w", number, 1e-3);
  if (nvml.energy_mj && nvml.energy_mj(device_, &large) == kSuccess) put(reading.totals, "gpu_energy_j", large, 1e-3);
  for (const auto& [clock, name] : {std::pair(kSmClock, "gpu_sm_clock_mhz"), {kMemoryClock, "gpu_memory_clock_mhz"}})
    if (nvml.clock_mhz && nvml.clock_mhz(device_, clock, &number) == kSuccess) put(reading.now, name, number, 1);
  if (nvml.temperature && nvml.temperature(device_, kTemperatureOfGpu, &number) == kSuccess)
    put(reading.now, "gpu_temperature_c", number, 1);
  if (MemoryInfo memory{}; nvml.memory && nvml.memory(device_, &memory) == kSuccess)
    put(reading.now, "gpu_used_bytes", memory.used, 1);
  if (nvml.throttle_reasons && nvml.throttle_reasons(device_, &large) == kSuccess)
    put(reading.now, "gpu_throttle_reasons", large, 1);
  return reading;
}

}  // namespace multicard
