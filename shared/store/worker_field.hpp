#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace brood {

// A worker's place in Redis: "<slot>.<incarnation>".
std::string worker_field(int slot, std::uint64_t incarnation);

// Its parts; nullopt when it is none.
struct WorkerField {
  int slot = 0;
  std::uint64_t incarnation = 0;
};
std::optional<WorkerField> parse_worker_field(std::string_view field);

// Whose an in-flight list is, and of which queue.
struct InFlightList {
  std::string identity, field, queue;
};

}  // namespace brood
