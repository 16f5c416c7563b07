#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include <brood/context.hpp>
#include <brood/event.hpp>
#include <brood/middleware.hpp>

#pragma GCC visibility push(hidden)
namespace brood {

// What Setup::on_death() and Setup::on_error() take: the job, valid during the call alone, and what it threw: the
// exception itself, else a JobFailure, after a crash a JobCrashed.
using DeathHandler = std::function<void(const JobInfo&, const std::exception&)>;
using ErrorHandler = std::function<void(const JobInfo&, const std::exception&)>;

namespace detail {

// All that one library has registered.
struct Registrations {
  ServerMiddleware middleware;
  std::vector<DeathHandler> death_handlers;
  std::vector<ErrorHandler> error_handlers;
  std::vector<std::pair<Event, EventHandler>> event_handlers;
};

}  // namespace detail

// What a library may register besides its jobs.  Define `void brood_setup(brood::Setup& setup)` beside BROOD_JOBS or
// BROOD_MIDDLEWARE; every process that loads the library calls it once, before any job: workers, the short-lived ones
// that look into crashes, and checks.  What it throws refuses the library.
//
// What a library with jobs registers is for its own jobs.  One without, which says BROOD_MIDDLEWARE() instead, serves
// the jobs of all libraries of the worker: its middleware is around theirs, the library configured first outermost.
// Events concern the worker, and reach every library.
class Setup {
 public:
  // Made by the library, for brood_setup().
  explicit Setup(detail::Registrations& registrations) : registrations_(&registrations) {}

  // Called around each run of a job as `void (brood::Run& run, const brood::Next& next)`: next() goes on, and returns
  // when the job has ended well.  A job that fails throws out of it; so does one that is Interrupted, which should
  // pass. Whoever does not call next() has done the job: it is acknowledged.  What comes out of the chain is how the
  // job ended. Under BROOD_MIDDLEWARE the job's own exception stays in its library: what comes out of next() is a
  // brood::JobFailure with its error class and words.  Jobs that are programs have such middleware, too.  A job of no
  // known class reaches none.  A third argument of add() and its like says where: {.capsules = {"images"}}.
  ServerMiddleware& server_middleware() { return registrations_->middleware; }

  // Called for each attempt that has failed, also one that will be tried again, before the job is settled: in the
  // worker, or, after a crash, in a short-lived process of its own.  What it throws is logged.  Not for one that
  // `brood kill` ended, nor for an Interrupted.
  void on_error(ErrorHandler handler) { registrations_->error_handlers.push_back(std::move(handler)); }

  // Called for each job that will not be tried again: exhausted, killed or discarded; where and when as above.
  void on_death(DeathHandler handler) { registrations_->death_handlers.push_back(std::move(handler)); }

  // Called at `event` as `void (const brood::Occasion&)` or `void ()`: see brood::Event for when and where.
  template <typename Handler>
  void on(Event event, Handler handler) {
    if constexpr (std::invocable<Handler&, const Occasion&>) {
      registrations_->event_handlers.emplace_back(event, std::move(handler));
    } else {
      static_assert(std::invocable<Handler&>, "brood: an event handler takes (const brood::Occasion&) or nothing");
      registrations_->event_handlers.emplace_back(
          event, [handler = std::move(handler)](const Occasion&) mutable { handler(); });
    }
  }

 private:
  detail::Registrations* registrations_;
};

}  // namespace brood
#pragma GCC visibility pop

// An author may define it beside BROOD_JOBS; where nobody does, its address is null.
__attribute__((weak, visibility("default"))) void brood_setup(brood::Setup& setup);
