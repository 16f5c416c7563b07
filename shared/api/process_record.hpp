#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <brood/api.hpp>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// The fields of a process's hash that read_process() reads, in this order.
Command ask_process(std::string_view identity);

// nullopt: its hash has expired, or `info` cannot be read.
std::optional<Process> read_process(std::string identity, ReplyView fields);

// nullopt: no running job.
std::optional<Work> read_work(std::string identity, std::string tid, std::string_view json);

}  // namespace brood
