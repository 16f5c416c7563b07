#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/time_unit.hpp"
#include "shared/json/member_scan.hpp"
#include "shared/store/outcome.hpp"
#include "shared/store/sets/due_entries.hpp"
#include "shared/store/sets/due_jobs.hpp"

namespace brood {

// Prepares due members of one sorted set for the scripts that move them.  Sends nothing.
class DueBatch {
 public:
  // The commands to send, and for each the SHA of the script that it calls.
  struct Moves {
    std::vector<Command> commands;
    std::vector<const Script*> scripts;
    std::size_t largest_member = 0;  // of the members sent as bytes
    void add(ScriptCall call);
  };

  // Whether a due job stays in place, for other processes to move.
  using Leaves = std::function<bool(std::string_view queue, WallTime due)>;

  // `times` is the time unit for jobs without one.  Does not send the payload of a member of at least `refused_bytes`:
  // such a member is moved unchanged, and so is one of more than 16 MB.  Throws UnexpectedReply.
  DueBatch(DueEntries members, WallTime now, TimeUnit times, Leaves leaves, std::size_t refused_bytes);

  std::size_t size() const { return size_; }

  // Prepares more members, of about `turn_bytes` in all: parsing must not hold up the loop.  Throws UnexpectedReply.
  void prepare(std::string_view set_key, const DeadLimits& dead_limits, std::mt19937_64& random);
  bool prepared() const { return next_ == size_; }
  static constexpr std::size_t turn_bytes = 1 << 20;

  // Takes what is prepared:
  Moves take_moves() { return std::exchange(moves_, {}); }
  std::size_t bytes() const { return bytes_; }
  std::size_t left() const { return left_; }  // left in place for others
  const std::string& reason_for_dead() const { return reason_for_dead_; }

 private:
  void prepare_one(std::string_view member, std::string_view score, std::string_view set_key, const DeadLimits& limits,
                   std::mt19937_64& random);
  void prepare_scanned(std::string_view member, std::string_view score, std::string_view set_key,
                       const DeadLimits& limits);
  void move_one_as_it_is(std::string_view member, std::string_view score, std::string_view set_key,
                         const std::string& queue, const DeadLimits& limits);
  void move_jobs(std::string_view set_key);

  DueEntries members_;
  WallTime now_;
  TimeUnit times_;
  Leaves leaves_;
  std::size_t refused_bytes_;
  std::size_t size_, next_ = 0;
  std::vector<DueJob> jobs_;  // for the next script
  std::size_t job_bytes_ = 0;
  Moves moves_;
  std::size_t bytes_ = 0, left_ = 0;
  std::optional<MemberScan> scan_;  // of the next member, if it is large
  std::string reason_for_dead_;     // the first reason
};

}  // namespace brood
