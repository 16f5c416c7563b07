#include "shared/store/queues/known_queues.hpp"

#include <algorithm>
#include <unordered_set>

#include "shared/config/queue_order.hpp"

namespace brood {

std::vector<std::string> read_queue_names(ReplyView members, std::vector<std::string>* unsafe) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::string_view name = members[i].text();
    // This leaves out a queue called "*" too, which would stand for all of them.
    if (is_safe_name(name))
      names.emplace_back(name);
    else if (unsafe)
      unsafe->emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::set<std::string, std::less<>> read_paused_queues(ReplyView members) {
  std::set<std::string, std::less<>> paused;
  for (std::size_t i = 0; i < members.size(); ++i) paused.emplace(members[i].text());
  return paused;
}

std::vector<std::string> expand_queues(const std::vector<std::string>& listed, const KnownQueues& known) {
  const std::unordered_set<std::string_view> named(listed.begin(), listed.end());
  std::vector<std::string> queues;
  const auto take = [&](const std::string& name) {
    if (!known.paused.contains(name)) queues.push_back(name);
  };
  for (const std::string& name : listed) {
    if (name != "*") {
      take(name);
      continue;
    }
    for (const std::string& other : known.names) {
      if (!named.contains(other)) take(other);
    }
  }
  return queues;
}

}  // namespace brood
