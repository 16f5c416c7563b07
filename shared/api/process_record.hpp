#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <brood/api.hpp>

#include "shared/redis/reply.hpp"

namespace brood {

// Reads the reply to ask_process_hash().  Returns nullopt if the hash has expired, or its `info` cannot be read.
std::optional<Process> read_process(std::string identity, ReplyView reply);

// Merges the records of a process that beats in several shards.
void merge_process(Process& into, const Process& other);

// Returns nullopt if `json` is no running job.
std::optional<Work> read_work(std::string identity, std::string tid, std::string_view json);

}  // namespace brood
