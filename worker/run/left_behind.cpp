#include "worker/run/left_behind.hpp"

#include "shared/base/log.hpp"
#include "shared/scoreboard/left_threads.hpp"
#include "worker/crash/crash_handler.hpp"
#include "worker/guard/offspring.hpp"

namespace brood {

void LeftBehind::note_state() {
  state_.emplace();
  note_present();
}

void LeftBehind::note_present() {
  threads_.note_present();
  timers_.note_present();
}

void LeftBehind::look(const Payload& job) {
  const bool allowed = place_.rules.threads(job.code_class()) == LeftThreads::allow;
  stop_timers(allowed);
  look_for_threads(job, allowed);
}

// Stops timers that the job has left, whose signals would end the next job.  If a class may leave threads, its timers
// belong to those threads.
void LeftBehind::stop_timers(bool allowed) {
  if (allowed) return timers_.note_present();
  place_.age.left_timers += timers_.stop_left_behind();
}

// Looks for threads that the job has left: they would go on beside the next job, and a crash of theirs would be charged
// to that one.
void LeftBehind::look_for_threads(const Payload& job, bool allowed) {
  if (place_.age.left_threads > 0) return;
  if (allowed) return threads_.note_present();  // so that they are not taken for the next job's
  place_.age.left_threads = threads_.left_behind();
  if (place_.age.left_threads == 0) return;
  place_.slot.record().class_flags.fetch_or(job_left_threads);
  // Warns once for each class, since all of its jobs may do so.
  log::write(book_.note_left_threads() ? log::Level::debug : log::Level::warn, "job_left_threads",
             {{"jid", job.jid()},
              {"class", job.display_class()},
              {"threads", place_.age.left_threads},
              {"hint",
               "its worker is replaced after each such job: join them, start them in a startup handler, or set "
               "threads = \"allow\" in [worker], or for this class in [classes.NAME]"}});
}

void LeftBehind::put_right(bool made_calls) {
  state_->restore_own();
  if (!made_calls) return;
  place_.output.flush();
  if (!state_->restore_kernels()) place_.age.lowered_limits = true;
  place_.output.end_job(place_.slot.record());
  adopt_orphans();
  reap_orphans();
  note_libraries();
}

void LeftBehind::put_right_after_handlers() {
  if (state_) {
    put_right(true);
    note_present();
  } else {
    place_.output.flush();
    place_.output.end_job(place_.slot.record());
  }
}

}  // namespace brood
