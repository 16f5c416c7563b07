#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include <brood/report.hpp>
#include <brood/testing/jobs.hpp>

namespace brood::testing {

// While it exists, each push of any brood::Client of this process performs its job before it returns, on the thread
// that pushes.  Scheduled jobs are performed at once too, those of a bulk one after the other.
//
//   brood::testing::Inline performs(brood::testing::Jobs::of<ResizeImage>());
//   shop.take_order(order);                      // the picture has been resized
//
// A unique job that waits for the end of the job that pushes it (OnConflict::after, UniqueUntil::running) is performed
// after that job, also if that throws.  A running job is never replaced: OnConflict::replace pushes nothing.
//
// The jobs of a batch are performed as its push sends them, at most a thousand at a time, the steps of a flow in their
// order, and callbacks when the push has returned from its function.  A job of these that throws has died, and the
// others are performed nevertheless: the first exception comes out of the batch's push at its end.
//
// A job runs as in Fake::drain(), and its exception comes out of the push; then the rest of a bulk is not performed.
// client.cancel finds nothing.  client.find and client.wait know the reports of jobs with `keep_result`.  If there are
// several Inlines and Fakes, the one made last gets the pushes.
class BROOD_API Inline {
 public:
  // A push of a class that is not among `jobs` throws std::invalid_argument.
  explicit Inline(Jobs jobs);
  ~Inline();
  Inline(const Inline&) = delete;
  Inline& operator=(const Inline&) = delete;

  // The progress that the job reported by job.progress() in its last run; nullopt if it reported none.
  std::optional<JobProgress> progress(std::string_view jid) const;

  // Limiters do not wait here.  reach_limit() makes the limiter of this name appear reached to the jobs that are
  // performed from now on, until free_limit(): so a test sees how they behave.
  void reach_limit(std::string_view limiter);
  void free_limit(std::string_view limiter);

 private:
  struct __attribute__((visibility("hidden"))) State;
  std::shared_ptr<State> state_;
};

}  // namespace brood::testing
