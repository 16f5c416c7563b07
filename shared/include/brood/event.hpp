#pragma once

#include <concepts>
#include <functional>
#include <string_view>
#include <utility>

#include <brood/context.hpp>

namespace brood {

// What happens to a worker, which is where a library's code runs: never in the supervisor.  A worker has one thread, so
// handlers run between its jobs, never beside one, and the next job waits for them.  Libraries are called in the order
// in which they are configured, the handlers of each in the order of registration; those of quiet, shutdown and exit
// the other way round.
//
//   event      when                                                                                     how often
//   preload    all libraries are loaded, in the template process, of which the workers are copies: to   once for all
//              load what they then share, a model, say.  No thread, connection or timer may be left     workers
//              behind it.  Where there is no template, in each worker, before fork
//   fork       the process is there and all libraries are loaded, nothing else: to open what belongs    once
//              to one process alone
//   startup    after fork, before the first fetch; where something is thrown the worker is started      once
//              again after a pause, which grows from 100 ms to 30 s; a restart is rolled back
//   heartbeat  it has reached Redis: for the first time, or anew after the connection was lost          each time
//   beat       with heartbeat, and then between jobs when the last was 10 s ago; an idle worker has no  repeated
//              timer and beats when its wait in Redis ends, within about a minute
//   quiet      it was told to fetch no more, and what it had is settled                                 once
//   shutdown   it will end: told to stop or replaced, or recycled; after quiet                          once
//   exit       last, when it holds nothing in Redis any more                                            once
//   crash      a job has ended its worker: in a process of its own, made for this, that has loaded the  each time
//              libraries and in which nothing else has run; the job is not settled yet
//
// The process of an isolated job (Isolation::process) sees none of them: it is forked from a copy of the worker that
// was made after startup, and shares what startup has opened.
//
// A worker whose process ends in another way, killed or crashed, sees no quiet, shutdown or exit.
//
// What a handler throws is logged and ignored, except at preload and startup.  One that crashes or hangs ends its
// worker and charges no job: what happens at one event may take `shutdown_timeout` in all, then the worker is killed;
// at fork and startup, and at preload, it may take `boot_timeout`.  What it prints is logged like a job's output, with
// the class Event::beat, say.
enum class Event { fork, startup, heartbeat, beat, quiet, shutdown, exit, crash, preload };

// What a handler is told.  Valid during the call alone.
class Occasion {
 public:
  // Made by the library, for each event.
  Occasion(Event event, const abi::Occasion& occasion, const JobInfo* job)
      : event_(event), occasion_(&occasion), job_(job) {}
  Occasion(const Occasion&) = delete;
  Occasion& operator=(const Occasion&) = delete;

  Event event() const { return event_; }                                 // what has happened
  std::string_view capsule() const { return view(occasion_->capsule); }  // of this worker; empty at crash and preload
  int slot() const { return occasion_->slot; }  // of this worker, or the one that crashed; -1 at preload

  // At crash: the job that the worker died of; else null.
  const JobInfo* job() const { return job_; }
  // At crash: what is known of it, the message, then a line for each frame; else empty.
  std::string_view report() const { return view(occasion_->report); }

  // One event in the worker's log; at most 10,000 bytes of it.
  void log(LogLevel level, std::string_view message) const {
    occasion_->log(occasion_->host, static_cast<std::uint32_t>(level), {message.data(), message.size()});
  }
  void log(std::string_view message) const { log(LogLevel::info, message); }

 private:
  static std::string_view view(const abi::Text& text) { return {text.data == nullptr ? "" : text.data, text.size}; }
  Event event_;
  const abi::Occasion* occasion_;
  const JobInfo* job_;
};

// What Setup::on() keeps.
using EventHandler = std::function<void(const Occasion&)>;

}  // namespace brood
