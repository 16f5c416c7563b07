#include "shared/store/queues/laid_aside.hpp"

#include "shared/store/keys.hpp"

namespace brood {

Command push_aside(std::string_view queue) { return {"LPUSH", keys::laid_aside(queue)}; }

Command offer_laid_aside(std::string_view queue) { return {"RENAME", keys::laid_aside(queue), keys::queue(queue)}; }

Command drop_queues(const std::vector<std::string>& queues) {
  Command unlink{"UNLINK"};
  for (const std::string& queue : queues) unlink.add(keys::queue(queue)).add(keys::laid_aside(queue));
  return unlink;
}

}  // namespace brood
