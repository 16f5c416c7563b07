#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <brood/api.hpp>

#include "shared/redis/reply.hpp"

namespace brood {

// What ask_process_hash() is answered.  nullopt: its hash has expired, or `info` cannot be read.
std::optional<Process> read_process(std::string identity, ReplyView reply);

// One process that beats in several shards: adds to what it says in one what it says in another.
void merge_process(Process& into, const Process& other);

// nullopt: no running job.
std::optional<Work> read_work(std::string identity, std::string tid, std::string_view json);

}  // namespace brood
