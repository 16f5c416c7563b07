#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "supervisor/cli/fleet/fleet_members.hpp"

namespace brood {

// Whether a process is restarted in the restart of its fleet.
struct Placing {
  enum class Place {
    in_turn,
    new_already,  // it has loaded its configuration and libraries late enough
    left_out,     // its workers stay old, which the command must report
    no_concern,   // it is not brood's, or it is ending
  };
  Place place = Place::in_turn;
  std::string why = {};  // half a sentence, unless it is in turn
};
// Without `loaded_before`, restarts every member that can be restarted.
Placing placing_of(const FleetMember& member, std::optional<WallTime> loaded_before);

// The restart of a fleet: one supervisor after the other, until one fails.  Pure: the caller looks at the members and
// at the clock.
class FleetRoll {
 public:
  struct Limits {
    std::chrono::milliseconds to_begin;  // until the order is in the heartbeat
    std::chrono::milliseconds to_end;    // until it is carried out, from when it was given
  };
  enum class End {
    done,
    refused,
    rolled_back,
    not_now,
    not_taken,   // the order has expired: it is not carried out any more
    lost_track,  // the supervisor has forgotten the order: it was upgraded meanwhile
    gone,        // its heartbeat has ended
    overdue,
  };

  FleetRoll(std::size_t members, Limits limits) : limits_(limits), ends_(members) {}

  // The member that gets the order next; nullopt if one is under way, all have had their turn, or one has failed.
  std::optional<std::size_t> next() const;
  // The member next() was given the order `id`.
  void begin(std::string id, SteadyTime now);
  // The member next() has ended before its turn.
  void pass_over() { ++turn_; }

  // `seen` is the member under way; nullopt if Redis did not answer.  Returns how its turn ended; nullopt if it has
  // not.
  std::optional<End> look(const std::optional<SeenMember>& seen, SteadyTime now);

  // The progress of the member under way, or why it failed; for people.
  const std::string& text() const { return text_; }
  std::optional<std::size_t> under_way() const { return is_under_way_ ? std::optional(turn_) : std::nullopt; }
  std::optional<End> failure() const { return failure_; }  // how the last turn failed

  std::vector<std::size_t> restarted() const;
  std::vector<std::size_t> old() const;  // the failed one, and those that have not had their turn

 private:
  std::optional<End> judge(const std::optional<SeenMember>& seen, SteadyTime now);

  Limits limits_;
  std::vector<std::optional<End>> ends_;  // of each member that has had its turn
  std::size_t turn_ = 0;
  bool is_under_way_ = false, was_taken_ = false;
  std::string id_, text_;
  SteadyTime given_at_{};
  std::optional<End> failure_;
};

// For programs: "rolled_back".
std::string_view name_of(FleetRoll::End end);
// What happened, for people: "rolled back, and its old workers go on: ...".
std::string sentence_of(FleetRoll::End end, const std::string& text);

}  // namespace brood
