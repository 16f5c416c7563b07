#include "shared/base/processors.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "shared/base/plain_number.hpp"

namespace brood {
namespace {

using std::filesystem::path;

std::optional<double> number_in(const path& file) {
  double number = 0;
  return std::ifstream(file) >> plain(number) ? std::optional(number) : std::nullopt;
}

// The quota as a number of processors; nullopt: no limit.
std::optional<double> quota_of(std::optional<double> quota, std::optional<double> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

// "50000 100000", or "max 100000".
std::optional<double> quota_of_version_2(const path& group) {
  double quota = 0, period = 0;
  std::ifstream file(group / "cpu.max");
  return file >> plain(quota) >> plain(period) ? quota_of(quota, period) : std::nullopt;
}

std::optional<double> quota_of_version_1(const path& group) {
  return quota_of(number_in(group / "cpu.cfs_quota_us"), number_in(group / "cpu.cfs_period_us"));
}

// The least quota of a group and all groups above it.  In a container the group's name may be that of the host, which
// does not exist here: then the container's own group is the topmost.
template <typename QuotaOf>
double least_quota(const path& top, const path& name, double least, QuotaOf quota_of) {
  path group = top;
  least = std::min(least, quota_of(group).value_or(least));
  for (const path& part : name.relative_path()) {
    if (part == "..") break;
    group /= part;
    least = std::min(least, quota_of(group).value_or(least));
  }
  return least;
}

// "0::/system.slice/brood.service" of version 2, "4:cpu,cpuacct:/system.slice/brood.service" of version 1.
double least_quota(const std::string& membership, const path& cgroups, double least) {
  const std::size_t first = membership.find(':'), second = membership.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return least;
  const std::string controllers = membership.substr(first + 1, second - first - 1);
  const path name = membership.substr(second + 1);
  if (controllers.empty()) return least_quota(cgroups, name, least, quota_of_version_2);
  if (("," + controllers + ",").find(",cpu,") == std::string::npos) return least;
  for (const path& top : {cgroups / controllers, cgroups / "cpu"})
    least = least_quota(top, name, least, quota_of_version_1);
  return least;
}

}  // namespace

int usable_processors(int allowed, const ProcessorPlaces& places) {
  double least = std::max(1, allowed);
  std::ifstream memberships(places.membership);
  for (std::string line; std::getline(memberships, line);) least = least_quota(line, places.cgroups, least);
  return std::max(1, static_cast<int>(std::ceil(least)));
}

int usable_processors() {
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) == 0) return usable_processors(CPU_COUNT(&processors));
  return usable_processors(
      static_cast<int>(std::thread::hardware_concurrency()));  // there are more than the set has bits
}

}  // namespace brood
