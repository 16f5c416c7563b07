#include "shared/store/queues/pausing.hpp"

#include "shared/store/keys.hpp"

namespace brood {

Command ask_is_paused(std::string_view queue) { return {"SISMEMBER", keys::paused, queue}; }
bool read_is_paused(ReplyView reply) { return reply.integer() == 1; }
Command pause_queue(std::string_view queue) { return {"SADD", keys::paused, queue}; }
Command unpause_queue(std::string_view queue) { return {"SREM", keys::paused, queue}; }
Command pause_class(std::string_view job_class) { return {"SADD", keys::brood_paused_classes, job_class}; }
Command unpause_class(std::string_view job_class) { return {"SREM", keys::brood_paused_classes, job_class}; }

}  // namespace brood
