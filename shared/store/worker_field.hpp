#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace brood {

// A worker's place in Redis: "<slot>.<incarnation>".
std::string worker_field(int slot, std::uint64_t incarnation);

// Its parts; nullopt if it cannot be read.
struct WorkerField {
  int slot = 0;
  std::uint64_t incarnation = 0;
};
std::optional<WorkerField> parse_worker_field(std::string_view field);

// The owner of an in-flight list, and the queue that its jobs came from.
struct InFlightList {
  std::string identity, field, queue;
};

}  // namespace brood
