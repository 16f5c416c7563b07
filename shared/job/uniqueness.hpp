#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <brood/options.hpp>

#include "shared/job/payload.hpp"

namespace brood {

// The members of a unique job's payload: `unique_for` (seconds), `unique_until` ("done" if only the other is there),
// `unique_by` (a JSON array that counts in the place of the arguments) and `on_conflict`.  An Active Job (`wrapped`) is
// known by the class and the arguments that its author wrote.
struct Uniqueness {
  enum class Until {
    start,    // its lock is let go when it begins
    done,     // with its end: success, death, deletion
    running,  // another may wait, and only one runs
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

// The same for a payload of any client; invalid members make no uniqueness.
std::optional<Uniqueness> uniqueness_of(const Payload& job);

// Returns false if it is surely nullopt, after a quick look.
bool may_be_unique(std::string_view payload);

}  // namespace brood
