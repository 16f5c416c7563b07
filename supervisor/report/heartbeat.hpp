#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/boot_clock.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/identity.hpp"
#include "shared/redis/async_connection.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/report/beat_tokens.hpp"
#include "supervisor/report/heartbeat_info_json.hpp"
#include "supervisor/report/metrics.hpp"
#include "supervisor/report/running_jobs.hpp"
#include "supervisor/report/statistics.hpp"

namespace brood {

// Tells Sidekiq's tools every ten seconds that this process lives, what its workers run and what they have done, and
// follows the signals that the Web UI's buttons leave.  It looks for such signals when it is told that there are some,
// or every two seconds where nobody tells it, and beats early if what runs has changed, so that buttons and busy page
// answer like those of one machine.
class Heartbeat {
 public:
  struct Sources {
    std::function<std::vector<SeenSlot>()> slots;  // all of them
    std::function<bool()> quiet;                   // also true while stopping
    // What the classes have done and used, and their peaks since this was last asked.
    std::function<std::vector<ClassUsage>()> usage = {};
    BeatTokens tokens = {};  // of the program before, in the same process
  };
  struct Events {
    std::function<void()> quiet, stop, dump;  // TSTP, TERM, TTIN were sent to us
    // A beat was answered; `sent` is when it left, so that Redis keeps it for 60 s from then at least.
    std::function<void(BootTime sent)> beaten;
    // Redis has lost our record from brood:processes, and perhaps those of others that nobody beats for any more.
    std::function<void()> was_unlisted = [] {};
    std::function<void(const std::string&)> word = {};  // something else was sent to us
    std::function<void(std::uint64_t)> token = {};      // the next beat carries it, and is not yet sent
    // Another process beats under our name.  Nothing was written, and no beat follows.
    std::function<void()> name_is_taken = {};
  };

  Heartbeat(EventLoop& loop, AsyncConnection& redis, Identity identity, ProcessFacts facts, Sources sources,
            Events events);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // Beats now, unless a beat is under way, and from then on by itself: at the start, and when Redis came back.
  void beat();

  // Looks for signals now: somebody has left one.
  void look_for_signals();

  // Whether look_for_signals() is called for each from now on.
  void rely_on_being_told(bool told);

  // After a reload; shown with the next beat.
  void set_facts(ProcessFacts facts);

  // Whether what the classes do is told; else it is forgotten.
  void tell_metrics(bool wanted);

  // A beat is under way, and with it perhaps counts.
  bool beating() const;

  // What has been and is to be counted.  Counts wait here while Redis is away.
  Statistics& statistics();
  Metrics& metrics();
  const BeatTokens& tokens() const;

  // Beats no more: hands over the last counts, and leaves `processes` and the list of running jobs.  `done` is called
  // once, when that was answered or after two seconds.
  void finish(std::function<void()> done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace brood
