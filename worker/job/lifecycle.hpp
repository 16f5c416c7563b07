#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <brood/abi.hpp>

#include "shared/base/clock.hpp"
#include "worker/job/job_registry.hpp"

namespace brood {

// Runs the handlers of one event in all libraries that have some, in their order or the other way round.  Their
// exceptions are logged; a preload and a startup end with the first one, as a StartupError.  `occasion` is the event.
void run_event_handlers(const JobRegistry& registry, abi::Occasion occasion);
// The handlers of preload, in a process that is no worker, or not yet.
void run_preload_handlers(const JobRegistry& registry);

// The events of one worker, in order and as often as <brood/event.hpp> says.  Does nothing without handlers.
class Lifecycle {
 public:
  struct Setup {
    int slot = 0;
    std::string capsule;
    bool preloaded = false;               // the handlers of preload have run, before this process was forked
    std::chrono::milliseconds longest{};  // for the handlers of one event; then this process is killed
    // Called around the handlers of one event.
    std::function<void(std::string_view event)> begins = [](std::string_view) {};
    std::function<void()> ended = [] {};
  };

  Lifecycle(const JobRegistry& registry, Setup setup) : registry_(registry), setup_(std::move(setup)) {}

  // Call it when all libraries are loaded: runs the handlers of preload, fork and startup.  Throws StartupError.
  void start();

  // Redis has answered; `connections` says how often the worker has connected.
  void beat(std::uint64_t connections);

  void quiet();     // once, however often it is called
  void shutdown();  // after quiet
  void exit();

 private:
  void tell(abi::EventKind event) const;
  void tell_within_limit(abi::EventKind event) const;

  const JobRegistry& registry_;
  const Setup setup_;
  std::uint64_t connections_ = 0;  // at the last beat
  SteadyTime last_beat_{};
  bool quiet_ = false;
};

}  // namespace brood
