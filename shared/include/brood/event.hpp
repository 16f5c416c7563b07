#pragma once

#include <concepts>
#include <functional>
#include <string_view>
#include <utility>

#include <brood/context.hpp>

namespace brood {

// The events in a worker's life.  A library's code runs in workers, never in the supervisor.  A worker has one
// thread, so handlers run between its jobs, and the next job waits for them.  Libraries are called in the order in
// which they are configured, the handlers of each in the order of registration; at quiet, shutdown and exit in the
// opposite order.
//
//   event      when                                                                                     how often
//   preload    all libraries are loaded, in the template process, of which the workers are copies: to   once for all
//              load data that they share, such as a model.  It must not leave a thread, connection or   workers
//              timer behind.  Without a template: in each worker, before fork
//   fork       the process has begun and all libraries are loaded, nothing else: to open what belongs   once
//              to one process alone
//   startup    after fork, before the first fetch.  If a handler throws, the worker is started again    once
//              after a pause, which grows from 100 ms to 30 s, and a restart is rolled back
//   heartbeat  the worker has reached Redis: for the first time, or again after a lost connection       each time
//   beat       with heartbeat, and then between jobs if the last was 10 s ago; an idle worker has no    repeated
//              timer and beats when its wait in Redis ends, within about a minute
//   quiet      the worker was ordered to fetch no more, and its jobs are settled                        once
//   shutdown   the worker will end: it was stopped, replaced, or recycled; after quiet                  once
//   exit       last, when the worker holds nothing in Redis any more                                    once
//   crash      a job has ended its worker: in a process of its own, made for this, that has loaded the  each time
//              libraries and in which nothing else has run; the job is not settled yet
//
// The process of an isolated job (Isolation::process) gets none of these events.  It is forked from a copy of the
// worker that was made after startup, and shares the files and connections that startup has opened.
//
// If a worker's process is killed or crashes, it gets no quiet, shutdown or exit.
//
// An exception of a handler is logged and ignored, except at preload and startup.  A handler that crashes or hangs
// ends its worker; no job is charged.  All handlers of one event together may take `shutdown_timeout`, then the worker
// is killed.  At preload, fork and startup they may take `boot_timeout`.  The output of a handler is logged like a
// job's output, with a class such as Event::beat.
enum class Event { fork, startup, heartbeat, beat, quiet, shutdown, exit, crash, preload };

// The argument of a handler.  It is valid only during the call.
class Occasion {
 public:
  // The library's code makes one for each event.
  Occasion(Event event, const abi::Occasion& occasion, const JobInfo* job)
      : event_(event), occasion_(&occasion), job_(job) {}
  Occasion(const Occasion&) = delete;
  Occasion& operator=(const Occasion&) = delete;

  Event event() const { return event_; }                                 // the event
  std::string_view capsule() const { return view(occasion_->capsule); }  // this worker's; empty at crash and preload
  int slot() const { return occasion_->slot; }  // this worker's, or that of the crashed worker; -1 at preload

  // Returns the job that ended the worker, at crash; else null.
  const JobInfo* job() const { return job_; }
  // Returns a report of several lines at crash, the message and then a line for each frame; else an empty text.
  std::string_view report() const { return view(occasion_->report); }

  // Writes one event into the worker's log.  `message` is cut to 10,000 bytes.
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

// The type of the handlers that Setup::on() registers.
using EventHandler = std::function<void(const Occasion&)>;

}  // namespace brood
