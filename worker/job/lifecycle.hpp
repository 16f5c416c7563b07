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

// Runs the handlers of the event `occasion` in all libraries that have some, in their order or in reverse.  Exceptions
// are logged; but the first one of a preload or startup handler ends this, as a StartupError.
void run_event_handlers(const JobRegistry& registry, abi::Occasion occasion);
// Runs the handlers of preload, in a process that is no worker, or not yet.
void run_preload_handlers(const JobRegistry& registry);

// The events of one worker, in the order and number of <brood/event.hpp>.  Does nothing without handlers.
class Lifecycle {
 public:
  struct Setup {
    int slot = 0;
    std::string capsule;
    bool preloaded = false;               // the handlers of preload have run, before this process was forked
    std::chrono::milliseconds longest{};  // time for the handlers of one event; after it this process is killed
    // Called around the handlers of one event.
    std::function<void(std::string_view event)> begins = [](std::string_view) {};
    std::function<void()> ended = [] {};
  };

  Lifecycle(const JobRegistry& registry, Setup setup) : registry_(registry), setup_(std::move(setup)) {}

  // Call it when all libraries are loaded: runs the handlers of preload, fork and startup.  Throws StartupError.
  void start();

  // Call it when Redis has answered.  `connections` is how often the worker has connected.
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
