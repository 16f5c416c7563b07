#include <brood/job.hpp>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

// The time of the tick that this job is for, in seconds since the epoch; when somebody has run it by hand, its id.
std::string occasion_of(const brood::Context& job) {
  constexpr std::string_view name = "\"periodic_tick\":";
  const std::size_t at = job.payload().find(name);
  if (at == std::string_view::npos) return std::string(job.jid());
  const std::string_view tick = job.payload().substr(at + name.size());
  return std::string(tick.substr(0, tick.find_first_not_of("0123456789")));
}

}  // namespace

// Writes a report of each night.  A tick pushes one job; when that is killed in its midst it is run again, and finds by
// the report's name whether it had come to its end.
struct NightlyReport {
  std::string directory;

  static constexpr brood::JobOptions options{.retry = 5};

  void perform(brood::Context& job) const {
    std::filesystem::create_directories(directory);
    const std::string report = directory + "/" + occasion_of(job);
    if (std::filesystem::exists(report)) return;
    const std::string partial = "." + std::string(job.jid());
    std::ofstream file(partial);
    if (!(file << "the report of " << occasion_of(job) << '\n').flush())
      throw std::runtime_error("cannot write " + partial);
    std::filesystem::rename(partial, report);
    job.log("wrote " + report);
  }
};

BROOD_JOBS(NightlyReport)
