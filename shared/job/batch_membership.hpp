#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shared/job/payload.hpp"
#include "shared/json/json_object.hpp"

namespace brood {

// The members of a payload about batches.  A job of a batch has `bid` and, last of all members when it is pushed,
// `batch_index`.  A callback has `cbid`, the batch that it reports about, and `batch_callback`, the event.
struct BatchMembership {
  std::string bid;  // empty: it counts in no batch of brood's
  std::uint32_t index = 0;
  std::string callback;  // the batch of a callback; empty: it is none
  std::string jid;       // of a callback
};

inline constexpr std::string_view mark_of_batch_job = "\"batch_index\"", mark_of_batch_callback = "\"cbid\"";

// Returns nullopt if there are no such members, if the payload cannot be read, and for names that no batch of brood's
// has.
std::optional<BatchMembership> batch_named_by(std::string_view payload);
std::optional<BatchMembership> batch_named_by(const Payload& job);

// The name of a job that is a step of a flow; empty: it is none.
std::string step_named_by(const JsonObject& job);

// 1 to 64 of A-Z a-z 0-9 _ -.
bool is_bid(std::string_view text);

// For how many seconds Redis can be asked to keep a key with this timeout.
std::int64_t kept_for(std::int64_t timeout_s);

}  // namespace brood
