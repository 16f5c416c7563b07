#include "supervisor/report/metrics_flush.hpp"

#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/store/report/class_runs.hpp"

namespace brood {

void MetricsFlush::begin(std::chrono::milliseconds deadline, std::function<void()> done) { go_on(deadline, done); }

void MetricsFlush::go_on(std::chrono::milliseconds deadline, const std::function<void()>& done) {
  std::vector<ClassUsage> told = metrics_.unflushed(most_classes_a_call);
  if (told.empty() || !redis_.connected()) return done();
  ScriptCall call = count_runs(told, redis_now());
  redis_.run_all({std::move(call)}, deadline,
                 [this, told = std::move(told), deadline, done](const std::vector<AsyncConnection::Result>& results) {
                   if (settle(told, results[0])) return go_on(deadline, done);
                   done();
                 });
}

// Returns false if no more can be sent now.
bool MetricsFlush::settle(const std::vector<ClassUsage>& told, const AsyncConnection::Result& answer) {
  if (answer.error.empty() && !answer.ok()) {
    if (!std::exchange(refused_, true))
      log::warn("metrics_refused",
                {{"error", answer.why()}, {"hint", "they are kept, and written when Redis accepts them"}});
    return false;
  }
  metrics_.flushed(told);
  if (!answer.ok()) return false;
  if (std::exchange(refused_, false)) log::info("metrics_are_told_again");
  const std::int64_t refused = answer.reply.view().is_integer() ? answer.reply.view().integer() : 0;
  if (refused > 0 && refused != keys_refused_)
    log::warn("metrics_lost", {{"keys", refused}, {"reason", "they are of another type"}});
  keys_refused_ = refused;
  return true;
}

}  // namespace brood
