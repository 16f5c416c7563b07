#include "shared/store/report/process_list.hpp"

#include "shared/store/keys.hpp"

namespace brood {

Command ask_processes() { return {"SMEMBERS", keys::processes}; }

Command ask_owners() { return {"HKEYS", keys::brood_processes}; }

Command ask_is_process(std::string_view identity) { return {"SISMEMBER", keys::processes, identity}; }

Command ask_leader() { return {"GET", keys::leader}; }

Command ask_process_count() { return {"SCARD", keys::processes}; }

std::int64_t read_process_count(ReplyView reply) { return reply.integer(); }

}  // namespace brood
