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

// The commands of the one supervisor that looks after tenants.

// Takes this part unless another supervisor has it.  It expires by itself.  The last reply names the supervisor that
// has it then.
std::vector<Command> take_tenants_watch(std::string_view identity, std::chrono::milliseconds lifetime);
bool read_has_tenants_watch(ReplyView last, std::string_view identity);
Command keep_tenants_watch(std::string_view identity, std::chrono::milliseconds lifetime);
Command leave_tenants_watch();

// How many of these queues have jobs.  Costs less than to ask which.
Command count_filled(const std::vector<std::string>& queues);
inline constexpr std::size_t max_tenants_entered = 100;  // by one script, so that it does not hold up Redis
// Adds those of up to max_tenants_entered tenants that have jobs to the turns of their bases.
ScriptCall enter_filled_tenants(const std::vector<std::string>& queues);

// Notes that these tenants have no jobs, from now on unless they were noted before.
Command note_idle_tenants(const std::vector<std::string>& queues, std::int64_t now_s);
// The tenants whose names were taken off the list a minute ago; and those that have had no jobs for `idle_for_s`.
std::vector<Command> ask_idle_tenants(std::int64_t now_s, std::int64_t idle_for_s, std::size_t most);
// Takes the names of tenants that have no jobs off the list of queues.  They are remembered for a minute and then
// looked at again: a client may have registered the queue before, and push its job after.
ScriptCall forget_idle_tenants(const std::vector<std::string>& queues, std::int64_t now_s);

// The names of all queues with "images~*" for all tenants of images.  Processes read them instead of the full list when
// that has too many names.
inline constexpr std::int64_t many_queue_names = 1'000;  // from this number on
std::vector<Command> publish_queue_names(const std::vector<std::string>& names);
Command ask_published_queue_names();
bool has_names(ReplyView published);  // false: they are not published

}  // namespace brood
