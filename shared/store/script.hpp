#pragma once

#include <vector>

#include "shared/redis/connection.hpp"
#include "shared/redis/script_call.hpp"

namespace brood::scripts {

std::vector<const Script*> all();
extern const Script settle_and_fetch, settle_without_field, fetch_after_wait, register_incarnation, recover, give_back,
    move_due, work, recover_orphans, move_due_to_dead, heartbeat, count, count_runs, set_page, remove_entries,
    kill_entries, reschedule_entry, queue_page, remove_jobs, push_once, list_process, forget_process, fleet_lease;

}  // namespace brood::scripts
