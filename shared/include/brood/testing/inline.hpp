#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include <brood/report.hpp>
#include <brood/testing/jobs.hpp>

namespace brood::testing {

// While an Inline exists, each push of any brood::Client of this process performs its job before it returns, on the
// thread that pushes.  Scheduled jobs are performed at once too, those of a bulk one after the other.
//
//   brood::testing::Inline performs(brood::testing::Jobs::of<ResizeImage>());
//   shop.take_order(order);                      // the picture has been resized
//
// A unique job that waits for the end of the job that pushes it (OnConflict::after, UniqueUntil::running) is performed
// after that job, also if that throws.  A running job is never replaced: OnConflict::replace pushes nothing.
//
// The jobs of a batch are performed as its push sends them, at most a thousand at a time, the steps of a flow in their
// order, and callbacks when the push has returned from its function.  If one of these jobs throws, it is dead, and the
// others are still performed.  The batch's push throws the first exception at its end.
//
// A job runs as in Fake::drain(), and the push throws its exception; then the rest of a bulk is not performed.
// client.cancel finds no job.  client.find and client.wait return the reports of jobs with `keep_result`.  If there are
// several Inlines and Fakes, the one made last gets the pushes.
class BROOD_API Inline {
 public:
  // A push of a class that is not among `jobs` throws std::invalid_argument.
  explicit Inline(Jobs jobs);
  ~Inline();
  Inline(const Inline&) = delete;
  Inline& operator=(const Inline&) = delete;

  // Returns the progress that the job reported by job.progress() in its last run; nullopt if it reported none.
  std::optional<JobProgress> progress(std::string_view jid) const;

  // Limiters never wait in an Inline.  After reach_limit() the limiter of this name is reached for the jobs that are
  // performed, until free_limit().  So a test can check their behaviour over the limit.
  void reach_limit(std::string_view limiter);
  void free_limit(std::string_view limiter);

 private:
  struct __attribute__((visibility("hidden"))) State;
  std::shared_ptr<State> state_;
};

}  // namespace brood::testing
