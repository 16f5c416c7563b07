#include "shared/store/report/pruning.hpp"

#include "shared/store/keys.hpp"

namespace brood {

Command may_prune() { return {"SET", keys::process_cleanup, "1", "NX", "EX", "60"}; }

bool read_may_prune(ReplyView reply) { return !reply.is_nil() && !reply.is_error(); }

Command unlist(const std::vector<std::string>& identities) {
  Command remove{"SREM", keys::processes};
  for (const std::string& identity : identities) remove.add(identity);
  return remove;
}

}  // namespace brood
