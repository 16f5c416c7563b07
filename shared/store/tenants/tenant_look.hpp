#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// What the one supervisor asks that looks after tenants.

// Which supervisor that is: takes the part unless another has it; it expires by itself.  The last reply says who has
// it.
std::vector<Command> take_tenants_watch(std::string_view identity, std::chrono::milliseconds lifetime);
bool read_has_tenants_watch(ReplyView last, std::string_view identity);
Command keep_tenants_watch(std::string_view identity, std::chrono::milliseconds lifetime);
Command leave_tenants_watch();

// How many of these queues have jobs.  Costs less than to ask which.
Command count_filled(const std::vector<std::string>& queues);
inline constexpr std::size_t max_tenants_entered = 100;  // by one script, so that it does not hold up Redis
// Adds those of up to max_tenants_entered tenants that have jobs to the turns of their bases.
ScriptCall enter_filled_tenants(const std::vector<std::string>& queues);

// Names the tenants that are without jobs, from now on unless they were so before.
Command note_idle_tenants(const std::vector<std::string>& queues, std::int64_t now_s);
// Those that have been without jobs for so long; and those whose names were taken off the list of queues a minute ago.
std::vector<Command> ask_idle_tenants(std::int64_t now_s, std::int64_t idle_for_s, std::size_t most);
// Takes the names of tenants that have no jobs off the list of queues.  For a minute more is known of them,
// and then they are looked at again: a client may have named a queue before that, and push its job after it.
ScriptCall forget_idle_tenants(const std::vector<std::string>& queues, std::int64_t now_s);

// The names of all queues with "images~*" for all tenants of images, for those who would have to read too many names.
inline constexpr std::int64_t many_queue_names = 1'000;  // from here on these are read
std::vector<Command> publish_queue_names(const std::vector<std::string>& names);
Command ask_published_queue_names();
bool has_names(ReplyView published);  // false: they are not published

}  // namespace brood
