// SPDX-License-Identifier: Apache-2.0
#include "kernels/host_load.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

namespace paceline::kernels {
namespace {

std::string text_of(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The number behind `key` in "key : 123" lines; 0 when there is none.
double number_after(const std::string& text, std::string_view key, std::size_t from = 0) {
  std::size_t at = text.find(key, from);
  if (at == std::string::npos) return 0;
  at = text.find_first_of("0123456789", at + key.size());
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at, nullptr);
}

}  // namespace

double busy_seconds(std::string_view proc_stat, double ticks_per_second) {
  // Columns: user nice system idle iowait irq softirq steal (proc(5)); guests are part of user.
  constexpr bool kCounts[] = {true, true, true, false, false, true, true, true};
  std::istringstream text{std::string(proc_stat.substr(0, proc_stat.find('\n')))};
  std::string name;
  if (!(text >> name) || name != "cpu") return 0;
  double ticks = 0, column = 0;
  for (const bool counts : kCounts) {
    if (!(text >> column)) break;
    if (counts) ticks += column;
  }
  return ticks / ticks_per_second;
}

HostReading read_host() {
  HostReading reading;
  reading.wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  reading.busy = busy_seconds(text_of("/proc/stat"), static_cast<double>(sysconf(_SC_CLK_TCK)));
  timespec own{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own) == 0)
    reading.own = static_cast<double>(own.tv_sec) + 1e-9 * static_cast<double>(own.tv_nsec);
  return reading;
}

void HostMonitor::add(const HostReading& reading) {
  readings_.push_back(reading);
  // One reading older than the window stays, so that every window can reach back.
  while (readings_.size() > 2 && readings_[1].wall < reading.wall - 4 * kWindow)
    readings_.pop_front();
}

HostLoad HostMonitor::between(const HostReading& start, const HostReading& now) {
  if (start.wall > readings_.back().wall) add(start);
  HostReading from = start;
  for (auto r = readings_.rbegin(); r != readings_.rend() && now.wall - from.wall < kWindow; ++r)
    if (r->wall < from.wall) from = *r;
  add(now);
  HostLoad load;
  const double wall = std::max(now.wall - from.wall, 1e-3);
  load.other_cores = ((now.busy - from.busy) - (now.own - from.own)) / wall - others_of_ours_;
  load.other_cores = std::max(load.other_cores, 0.0);
  double average = 0;
  if (getloadavg(&average, 1) == 1) load.load_average = std::max(average, 0.0);
  return load;
}

HostLoad HostMonitor::since(const HostReading& start) { return between(start, read_host()); }

std::string utc_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

double core_clock() {
  const int core = sched_getcpu();
  const std::string now = text_of(("/sys/devices/system/cpu/cpu" +
                                   std::to_string(std::max(core, 0)) + "/cpufreq/scaling_cur_freq")
                                      .c_str());
  if (const double kHz = std::strtod(now.c_str(), nullptr); kHz > 0) return kHz * 1e3;
  const std::string info = text_of("/proc/cpuinfo");
  const std::size_t here = info.find("processor\t: " + std::to_string(std::max(core, 0)) + "\n");
  return number_after(info, "cpu MHz", here == std::string::npos ? 0 : here) * 1e6;
}

double total_memory() { return number_after(text_of("/proc/meminfo"), "MemTotal:") * 1024; }
double free_memory() { return number_after(text_of("/proc/meminfo"), "MemAvailable:") * 1024; }

int core_count() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::max(CPU_COUNT(&allowed), 1);
}

}  // namespace paceline::kernels
