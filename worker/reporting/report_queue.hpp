#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/config/error_settings.hpp"
#include "shared/errors/error_report.hpp"
#include "shared/scoreboard/error_counts.hpp"
#include "worker/reporting/report_attempt.hpp"

namespace brood {

// A report that is in one or more queues.
struct HeldReport {
  ErrorReport report;
  std::string file = {};  // in the spool; empty: it is a digest, which has none
  std::size_t bytes = 0;  // of that file
  int queues = 0;         // how many queues are not done with it
};

// The reports that wait for one service, or for the program, and those under way to it.
class ReportQueue {
 public:
  // Begins an attempt; throws std::exception if that is not possible now.
  using Begin = std::function<std::unique_ptr<ReportAttempt>(const HeldReport&, SteadyTime)>;
  using Done = std::function<void(HeldReport&)>;

  // `done` is called once for each report that it got, when it was taken or is lost.
  ReportQueue(ErrorSink sink, const ErrorSettings& settings, ErrorSinkCounts& counts, Begin begin, Done done);

  void add(const std::shared_ptr<HeldReport>& report, SteadyTime now);

  void watch(std::vector<pollfd>& fds) const;
  void add_files_under_way(std::set<std::string>& files) const;
  SteadyTime next_look(SteadyTime now) const;
  void advance(SteadyTime now);
  // From now on no report is tried again: a report that is not taken stays in the spool.
  void end() { ends_ = true; }
  bool has_ended() const { return under_way_.empty() && (waiting_.empty() || failures_ > 0); }

 private:
  struct Entry {
    std::shared_ptr<HeldReport> held;
    int failures = 0;                // how often it was sent, and the answer was from 500 on, or none came
    std::uint64_t taken_before = 0;  // the value of taken_ when it was put behind the others for these failures
    std::unique_ptr<ReportAttempt> attempt = {};
  };

  bool may_begin(SteadyTime now) const;
  void begin(SteadyTime now);
  void heed(Entry entry, const ErrorVerdict& verdict, SteadyTime now);
  void try_again(Entry entry, const ErrorVerdict& verdict, SteadyTime now);
  void refuse(const Entry& entry, const std::string& reason, SteadyTime now);
  void note_taken(SteadyTime now);
  void note_not_taken();
  std::string_view name() const { return error_sink_names[static_cast<std::size_t>(sink_)]; }

  const ErrorSink sink_;
  const std::size_t most_waiting_, most_under_way_;
  ErrorSinkCounts& counts_;
  const Begin begin_;
  const Done done_;
  std::deque<Entry> waiting_;
  std::list<Entry> under_way_;
  bool ends_ = false;
  int failures_ = 0;  // in a row
  std::uint64_t taken_ = 0;
  std::set<std::string> reasons_;  // of the failures, as logged
  std::optional<SteadyTime> away_since_;
  SteadyTime not_before_{}, next_refusal_{}, next_overflow_{};
  std::uint64_t refused_unsaid_ = 0, overflown_unsaid_ = 0;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace brood
