#pragma once

#include <memory>
#include <string_view>

#include <brood/testing/jobs.hpp>

namespace brood::testing {

// While it lives, each push of any brood::Client of this process performs its job before it returns, on the thread that
// pushes: scheduled ones at once too, those of a bulk one after the other.
//
//   brood::testing::Inline performs(brood::testing::Jobs::of<ResizeImage>());
//   shop.take_order(order);                      // the picture has been resized
//
// A unique job that waits for the end of the one that pushes it (OnConflict::after, UniqueUntil::running) is performed
// behind that, also if that throws.  What runs is never replaced, as everywhere: OnConflict::replace pushes nothing.
//
// A job runs as Fake::drain() says, and what it throws comes out of the push; then the rest of a bulk is not performed.
// client.cancel finds nothing.  The innermost of several, of a Fake too, gets the pushes.
class BROOD_API Inline {
 public:
  // A class that is not among these is a std::invalid_argument of its push.
  explicit Inline(Jobs jobs);
  ~Inline();
  Inline(const Inline&) = delete;
  Inline& operator=(const Inline&) = delete;

  // Limiters keep nobody waiting here.  One of this name is reached for the jobs that are performed from now on, until
  // it is free again: what they do then is what is to be tested.
  void reach_limit(std::string_view limiter);
  void free_limit(std::string_view limiter);

 private:
  struct __attribute__((visibility("hidden"))) State;
  std::shared_ptr<State> state_;
};

}  // namespace brood::testing
