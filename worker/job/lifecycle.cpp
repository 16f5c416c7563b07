#include "worker/job/lifecycle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <utility>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "worker/job/library_text.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto between_beats = 10s;  // Sidekiq's

// Kills this process by SIGKILL unless this object is destroyed in time: handlers may block or ignore any other signal.
class LastMoment {
 public:
  explicit LastMoment(std::chrono::milliseconds longest) {
    sigevent expiry{};
    expiry.sigev_notify = SIGEV_SIGNAL;
    expiry.sigev_signo = SIGKILL;
    check("timer_create", timer_create(CLOCK_MONOTONIC, &expiry, &timer_));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
    const auto rest = std::max<std::chrono::nanoseconds>(longest - seconds, 1ns);  // 0 would switch the timer off
    const itimerspec once{.it_interval = {}, .it_value = {.tv_sec = seconds.count(), .tv_nsec = rest.count()}};
    check("timer_settime", timer_settime(timer_, 0, &once, nullptr));
  }
  ~LastMoment() { timer_delete(timer_); }
  LastMoment(const LastMoment&) = delete;
  LastMoment& operator=(const LastMoment&) = delete;

 private:
  timer_t timer_{};
};

void write_log(void* host, std::uint32_t level, abi::Text message) {
  const auto known = static_cast<log::Level>(std::min<std::uint32_t>(level, abi::log_error));
  if (!log::enabled(known)) return;
  log::write(known, "library_says",
             {{"slot", static_cast<const abi::Occasion*>(host)->slot}, {"message", read_text(message)}});
}

std::string_view name_of(abi::EventKind event) {
  constexpr std::array<std::string_view, 9> names{"fork",     "startup", "heartbeat", "beat",   "quiet",
                                                  "shutdown", "exit",    "crash",     "preload"};
  return names.at(event);
}

bool runs_in_reverse(std::uint32_t kind) {
  return kind == abi::event_quiet || kind == abi::event_shutdown || kind == abi::event_exit;
}

}  // namespace

void run_event_handlers(const JobRegistry& registry, abi::Occasion occasion) {
  occasion.size = sizeof occasion;
  occasion.host = &occasion;
  occasion.log = write_log;
  std::vector<const JobRegistry::Library*> libraries;
  for (const JobRegistry::Library& library : registry.libraries()) {
    if (library.has(static_cast<abi::EventKind>(occasion.kind))) libraries.push_back(&library);
  }
  if (runs_in_reverse(occasion.kind)) std::reverse(libraries.begin(), libraries.end());
  for (const JobRegistry::Library* library : libraries) {
    abi::Result result{};
    result.size = sizeof result;
    library->abi.run_event_handlers(&occasion, &result);
    const bool must_succeed = occasion.kind == abi::event_startup || occasion.kind == abi::event_preload;
    if (must_succeed && result.kind != abi::result_succeeded) {
      throw StartupError(fmt::format("job library {}: a handler of {} threw {}: {}", library->path,
                                     name_of(static_cast<abi::EventKind>(occasion.kind)), read_text(result.error_class),
                                     read_text(result.message)));
    }
  }
}

void run_preload_handlers(const JobRegistry& registry) {
  abi::Occasion occasion{};
  occasion.kind = abi::event_preload;
  occasion.slot = -1;
  run_event_handlers(registry, occasion);
}

void Lifecycle::start() {
  if (!setup_.preloaded && registry_.has(abi::event_preload)) {
    setup_.begins(name_of(abi::event_preload));
    run_preload_handlers(registry_);
    setup_.ended();
  }
  tell(abi::event_fork);
  tell(abi::event_startup);
}

void Lifecycle::tell(abi::EventKind event) const {
  if (!registry_.has(event)) return;
  abi::Occasion occasion{};
  occasion.kind = event;
  occasion.slot = setup_.slot;
  occasion.capsule = {setup_.capsule.data(), setup_.capsule.size()};
  setup_.begins(name_of(event));
  run_event_handlers(registry_, occasion);
  setup_.ended();
}

void Lifecycle::tell_within_limit(abi::EventKind event) const {
  if (!registry_.has(event)) return;
  const LastMoment last_moment(setup_.longest);
  tell(event);
}

void Lifecycle::beat(std::uint64_t connections) {
  const bool reached_anew = connections != connections_;
  const SteadyTime now = steady_now();
  if (!reached_anew && now - last_beat_ < between_beats) return;
  connections_ = connections;
  last_beat_ = now;
  if (reached_anew) tell_within_limit(abi::event_heartbeat);
  tell_within_limit(abi::event_beat);
}

void Lifecycle::quiet() {
  if (!std::exchange(quiet_, true)) tell_within_limit(abi::event_quiet);
}

void Lifecycle::shutdown() {
  quiet();
  tell_within_limit(abi::event_shutdown);
}

void Lifecycle::exit() { tell_within_limit(abi::event_exit); }

}  // namespace brood
