#include "shared/config/reading/worker_section.hpp"

#include <limits>

#include "shared/scoreboard/scoreboard.hpp"

namespace brood {
namespace {

using namespace setting;
using namespace std::chrono_literals;

void read_preload(const ConfigSection& section, WorkerSettings& worker) {
  section.truth_or_text(
      "preload", [&](bool preload) { worker.preload = preload ? Preload::always : Preload::never; },
      [&](const Place& at, const std::string& word) {
        if (word != "auto") at.refuse("must be \"auto\", true or false, not \"" + word + "\"");
        worker.preload = Preload::automatic;
      });
}

}  // namespace

void read_worker(const ConfigSection& section, WorkerSettings& worker) {
  section.count("max_jobs", worker.max_jobs, 0, std::numeric_limits<std::int64_t>::max());
  section.size("max_rss", worker.max_rss_bytes);
  section.size("memory_limit", worker.memory_limit_bytes);
  section.duration("job_timeout", worker.job_timeout, 0ms, longest_time);
  section.duration("timeout_grace", worker.timeout_grace, 0ms, 1h);
  section.count("max_crashes", worker.max_crashes, 1, 1'000);
  section.count("max_batch", worker.max_batch, 1, max_batch_entries);
  section.boolean("seccomp", worker.seccomp);
  section.text("threads",
               [&](const Place& at, const std::string& word) { worker.threads = read_left_threads(at, word); });
  read_preload(section, worker);
}

}  // namespace brood
