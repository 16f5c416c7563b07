#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <brood/options.hpp>

#include "shared/job/payload.hpp"

namespace brood {

// The members of a unique job's payload: `unique_for` (seconds), `unique_until` ("done" if only `unique_for` is there),
// `unique_by` (a JSON array that replaces the arguments) and `on_conflict`.  For an Active Job (`wrapped`) the class
// and the arguments are those that its author wrote.
struct Uniqueness {
  enum class Until {
    start,    // the lock is let go when the job begins
    done,     // when it ends: by success, death or deletion
    running,  // others may wait, and only one runs at a time
  } until = Until::done;
  OnConflict on_conflict = OnConflict::drop;
  std::string lock;                     // base64url of SHA-256
  std::chrono::milliseconds longest{};  // 0: as long as the job lives
};

// A member's JSON text; nullopt when it is absent.
using RawMember = std::function<std::optional<std::string_view>(std::string_view)>;

// nullopt if the job is not unique.  Throws std::invalid_argument for invalid members.
std::optional<Uniqueness> read_uniqueness(std::string_view job_class, std::string_view queue, std::string_view args,
                                          const RawMember& member);

// The same for a payload of any client: a job with invalid members is not unique.
std::optional<Uniqueness> uniqueness_of(const Payload& job);

// A quick check: returns false only if the job is not unique.
bool may_be_unique(std::string_view payload);

}  // namespace brood
