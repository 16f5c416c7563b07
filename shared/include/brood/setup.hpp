#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <brood/context.hpp>
#include <brood/event.hpp>
#include <brood/middleware.hpp>
#include <brood/periodic.hpp>

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
  std::string periodic;  // a line of JSON for each
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
  // worker, or, after a crash, in a short-lived process of its own, which has five seconds for all that is called
  // there: once they are over, the job is settled without.  What it throws is logged.  Not for one that `brood kill`
  // ended, nor for an Interrupted.
  template <typename Handler = ErrorHandler>
  void on_error(Handler handler) {
    check_failure_handler<Handler>();
    registrations_->error_handlers.emplace_back(std::move(handler));
  }

  // Called for each job that will not be tried again: exhausted, killed or discarded; where and when as above.
  template <typename Handler = DeathHandler>
  void on_death(Handler handler) {
    check_failure_handler<Handler>();
    registrations_->death_handlers.emplace_back(std::move(handler));
  }

  // Pushes `job` at each tick of the rule `cron`, whichever supervisor is there: as [periodic.NAME] in brood.toml(5)
  // does, which wins where both have the name.  The job may be of another library, or of a class that Ruby performs.
  // Registered when workers start; a library that no longer says so takes it back.
  //
  //   setup.periodic("report", "30 3 * * *", NightlyReport{.directory = "reports"}, {.tz = "Europe/Berlin"});
  template <typename Job>
  void periodic(std::string_view name, std::string_view cron, const Job& job, const PeriodicOptions& options = {}) {
    registrations_->periodic += detail::periodic_line(name, cron, job, options);
  }

  // Called at `event` as `void (const brood::Occasion&)` or `void ()`: see brood::Event for when and where.
  template <typename Handler>
  void on(Event event, Handler handler) {
    if constexpr (std::invocable<Handler&, const Occasion&>) {
      check_result<std::invoke_result_t<Handler&, const Occasion&>>();
      registrations_->event_handlers.emplace_back(event, std::move(handler));
    } else {
      static_assert(std::invocable<Handler&>, "brood: an event handler takes (const brood::Occasion&) or nothing");
      check_result<std::invoke_result_t<Handler&>>();
      registrations_->event_handlers.emplace_back(
          event, [handler = std::move(handler)](const Occasion&) mutable { handler(); });
    }
  }

 private:
  // std::function would drop a result, and with it the work of a coroutine.
  template <typename Result>
  static constexpr void check_result() {
    static_assert(std::is_void_v<Result>, "brood: a handler returns void");
  }
  template <typename Handler>
  static constexpr void check_failure_handler() {
    using Error = const std::exception&;
    static_assert(
        std::invocable<Handler&, const JobInfo&, Error>,
        "brood: a handler of errors or deaths takes (const brood::JobInfo& job, const std::exception& error)");
    if constexpr (std::invocable<Handler&, const JobInfo&, Error>)
      check_result<std::invoke_result_t<Handler&, const JobInfo&, Error>>();
  }
  detail::Registrations* registrations_;
};

}  // namespace brood
#pragma GCC visibility pop

// An author may define it beside BROOD_JOBS; where nobody does, its address is null.
__attribute__((weak, visibility("default"))) void brood_setup(brood::Setup& setup);
