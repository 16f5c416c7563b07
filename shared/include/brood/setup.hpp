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

// The handlers of Setup::on_death() and Setup::on_error().  They get the job, valid only during the call, and the
// error.  The error is the exception itself if it is a std::exception, a JobCrashed after a crash, else a JobFailure.
using DeathHandler = std::function<void(const JobInfo&, const std::exception&)>;
using ErrorHandler = std::function<void(const JobInfo&, const std::exception&)>;

namespace detail {

// The registrations of one library.
struct Registrations {
  ServerMiddleware middleware;
  std::vector<DeathHandler> death_handlers;
  std::vector<ErrorHandler> error_handlers;
  std::vector<std::pair<Event, EventHandler>> event_handlers;
  std::string periodic;  // one line of JSON for each periodic job
};

}  // namespace detail

// Registers code of a library besides its jobs.  Define `void brood_setup(brood::Setup& setup)` beside BROOD_JOBS or
// BROOD_MIDDLEWARE.  Every process that loads the library calls it once, before any job: workers, the short-lived
// processes that examine crashes, and checks.  If it throws, the library is refused.
//
// The registrations of a library with jobs are for its own jobs.  A library without jobs, which has BROOD_MIDDLEWARE()
// instead, serves the jobs of all libraries of the worker.  Its middleware is around theirs; that of the library
// configured first is outermost.  Events reach every library.
class Setup {
 public:
  // The library's code makes one for brood_setup().
  explicit Setup(detail::Registrations& registrations) : registrations_(&registrations) {}

  // Returns the chain of middleware that is called around each run of a job as
  // `void (brood::Run& run, const brood::Next& next)`.  next() runs the inside, and returns when the job has succeeded.
  // If the job fails, or is Interrupted, next() throws; the middleware must not swallow an Interrupted.  If the
  // middleware does not call next(), the job does not run and is acknowledged.  The result of the chain is that of the
  // job.  Under BROOD_MIDDLEWARE the job's exception stays in its library: next() throws a brood::JobFailure with its
  // error class and message.  That middleware also serves jobs that are programs.  A job of an unknown class reaches no
  // middleware.  The third argument of add() and similar functions selects capsules: {.capsules = {"images"}}.
  ServerMiddleware& server_middleware() { return registrations_->middleware; }

  // Registers a handler of failed attempts, also of those that are retried.  It is called before the job is settled: in
  // the worker, or after a crash in a short-lived process of its own.  In that process all calls together may take five
  // seconds; then the job is settled without the rest.  Exceptions of the handler are logged.  It is not called for a
  // job that `brood kill` ended, nor for an Interrupted.
  template <typename Handler = ErrorHandler>
  void on_error(Handler handler) {
    check_failure_handler<Handler>();
    registrations_->error_handlers.emplace_back(std::move(handler));
  }

  // Registers a handler of jobs that are not tried again: exhausted, killed or discarded.  It is called as a handler of
  // on_error() is.
  template <typename Handler = DeathHandler>
  void on_death(Handler handler) {
    check_failure_handler<Handler>();
    registrations_->death_handlers.emplace_back(std::move(handler));
  }

  // Pushes `job` at each tick of the rule `cron`, once for all supervisors, as [periodic.NAME] in brood.toml(5) does.
  // If both have the name, the rule of brood.toml is used.  The job may belong to another library, or be of a class
  // that Ruby performs.  The rule is registered when workers start, and removed when the library no longer registers
  // it.  Throws std::invalid_argument for invalid options.
  //
  //   setup.periodic("report", "30 3 * * *", NightlyReport{.directory = "reports"}, {.tz = "Europe/Berlin"});
  template <typename Job>
  void periodic(std::string_view name, std::string_view cron, const Job& job, const PeriodicOptions& options = {}) {
    registrations_->periodic += detail::periodic_line(name, cron, job, options);
  }

  // Registers a handler of `event`, called as `void (const brood::Occasion&)` or `void ()`.  See brood::Event for the
  // time and the process of each event.
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

// An author may define it beside BROOD_JOBS.  Without a definition its address is null.
__attribute__((weak, visibility("default"))) void brood_setup(brood::Setup& setup);
