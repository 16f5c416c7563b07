#include "shared/store/queues/known_queues.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "shared/base/planted_bug.hpp"
#include "shared/config/queue_order.hpp"
#include "shared/config/tenants.hpp"
#include "shared/store/keys.hpp"

namespace brood {

Command ask_queue_names() { return {"SMEMBERS", keys::queues}; }

std::optional<std::vector<std::string>> read_queue_names(ReplyView reply, std::vector<std::string>* unsafe) {
  if (!reply.is_array()) return std::nullopt;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const std::string_view name = reply[i].text();
    const auto tenant = tenant_in(name);
    // This leaves out a queue called "*" too, which would be a pattern.
    if (is_safe_queue(name) || (tenant && tenant->tenant == "*" && is_safe_queue(tenant->base)))
      names.push_back(tenant ? all_tenants_of(tenant->base) : std::string(name));
    else if (unsafe)
      unsafe->emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Command ask_queue_count() { return {"SCARD", keys::queues}; }

std::int64_t read_queue_count(ReplyView reply) { return reply.integer(); }

Command ask_paused_queues() { return {"SMEMBERS", keys::paused}; }
Command ask_paused_classes() { return {"SMEMBERS", keys::brood_paused_classes}; }

std::optional<NameSet> read_paused(ReplyView reply) {
  if (!reply.is_array()) return std::nullopt;
  NameSet paused;
  if (planted_at_first(PlantedBug::new_worker_knows_no_pause)) return paused;
  for (std::size_t i = 0; i < reply.size(); ++i) paused.emplace(reply[i].text());
  return paused;
}

bool is_never_told(ReplyView reply) { return !reply.is_array() && classify_error(reply.error()) == ErrorKind::other; }

std::vector<std::string> queues_of_pattern(const std::string& pattern, const std::vector<std::string>& listed,
                                           const KnownQueues& known, const std::vector<CapSettings>& caps) {
  const std::unordered_set<std::string_view> named(listed.begin(), listed.end());
  std::vector<std::string> patterns = listed, queues;
  std::erase_if(patterns, [](const std::string& entry) { return !is_pattern(entry); });
  const auto is_of_pattern = [&](std::string_view queue) {
    const std::string* const entry = named.contains(queue) ? nullptr : entry_for(patterns, queue);
    return entry != nullptr && *entry == pattern;
  };
  const auto add_tenants_of = [&](std::string_view base) {
    auto tenants = tenants_of_pattern(pattern, base, patterns);
    if (!tenants || known.paused.contains(*tenants) || known.paused.contains(all_tenants_of(base))) return;
    queues.push_back(std::move(*tenants));
  };
  // Asks for the tenants of this base, even if none is known yet.
  if (const auto named_base = tenant_in(std::string_view(pattern).substr(0, pattern.find('!')))) {
    add_tenants_of(named_base->base);
    return queues;
  }
  for (const std::string& name : known.names) {
    if (is_tenants(name)) {
      add_tenants_of(base_of_tenants(name));
      continue;
    }
    if (!known.paused.contains(name) && is_of_pattern(name) && is_of_pattern(home_of(caps, name)))
      queues.push_back(name);
  }
  return queues;
}

std::vector<std::string> expand_queues(const std::vector<std::string>& listed, const KnownQueues& known,
                                       const std::vector<CapSettings>& caps) {
  std::vector<std::string> queues;
  for (const std::string& entry : listed) {
    if (is_pattern(entry)) {
      std::vector<std::string> others = queues_of_pattern(entry, listed, known, caps);
      std::move(others.begin(), others.end(), std::back_inserter(queues));
    } else if (!known.paused.contains(entry)) {
      queues.push_back(entry);
    }
  }
  return queues;
}

std::vector<std::string> with_asides(std::vector<std::string> queues, const std::vector<CapSettings>& caps,
                                     const KnownQueues& known) {
  if (std::all_of(caps.begin(), caps.end(), [](const CapSettings& cap) { return cap.classes.empty(); })) return queues;
  const std::unordered_set<std::string_view> listed(queues.begin(), queues.end());
  std::vector<std::string> all;
  for (const std::string& queue : queues) {
    const std::string_view home = home_of(caps, queue);
    if (home != queue && (listed.contains(home) || known.paused.contains(home))) continue;
    for (std::string& aside : asides_of(caps, queue)) {
      if (!known.paused.contains(aside)) all.push_back(std::move(aside));
    }
    all.push_back(queue);
  }
  return all;
}

Command ask_is_paused(std::string_view queue) { return {"SISMEMBER", keys::paused, queue}; }
bool read_is_paused(ReplyView reply) { return reply.integer() == 1; }
Command pause_queue(std::string_view queue) { return {"SADD", keys::paused, queue}; }
Command unpause_queue(std::string_view queue) { return {"SREM", keys::paused, queue}; }

}  // namespace brood
