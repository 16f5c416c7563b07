#include "supervisor/reporter_child.hpp"

#include <utility>

#include "shared/base/log.hpp"
#include "shared/errors/error_services.hpp"
#include "shared/errors/error_spool.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto time_to_finish = 2'500ms;  // half a second more than the reporter takes
constexpr int most_removals = 100;        // of files, which processes that jobs have left may make all the time

}  // namespace

ReporterChild::ReporterChild(EventLoop& loop, Children& children, std::string spool, ErrorCounts& counts)
    : spool_(std::move(spool)),
      counts_(counts),
      child_(loop, children,
             {.settings = {.title = "brood: errors"},
              .ended = "error_reporter_ended",
              .not_started = "error_reporter_not_started",
              .before = [this] { make_error_spool(spool_); },
              .keep = [this] { return program_->descriptors(); },
              .body = [this](int lifeline) { return program_->report_errors(spool_, counts_, lifeline); }}),
      wake_(loop) {}

void ReporterChild::follow(std::shared_ptr<const Config> config, std::shared_ptr<ChildProgram> program) {
  const bool changes = config_ && config_->file.text != config->file.text;
  config_ = std::move(config);
  program_ = std::move(program);
  if (changes) child_.let_go(time_to_finish);  // it sends the reports that it has
  if (reports_errors(*config_)) child_.start();
}

void ReporterChild::finish(SteadyTime now) {
  if (std::exchange(finishes_, true)) return;
  child_.let_finish();
  deadline_ = now + time_to_finish;
  if (child_.is_running()) wake_.start_at(deadline_);
}

bool ReporterChild::has_finished(SteadyTime now) {
  if (child_.is_running() && now < deadline_) return false;
  child_.kill();
  const RemovedSpool removed = remove_error_spool(spool_);
  left_ += removed.reports;
  if (removed.goes_on && ++removals_ < most_removals) {
    wake_.start_at(now);
    return false;
  }
  if (left_ > 0)
    log::warn("error_reports_lost",
              {{"reports", left_}, {"reason", "the supervisor ends, and they were not taken in time"}});
  return true;
}

}  // namespace brood
