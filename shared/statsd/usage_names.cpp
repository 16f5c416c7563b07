#include "shared/statsd/usage_names.hpp"

#include "shared/scoreboard/queue_usage.hpp"

namespace brood {
namespace {

std::string or_others(const std::string& name) { return name.empty() ? "others" : name; }

}  // namespace

std::string statsd_class(const UsageTable& table, int class_index) { return or_others(class_at(table, class_index)); }
std::string statsd_queue(const UsageTable& table, int queue_index) {
  return or_others(queue_at(table.queues, queue_index));
}

}  // namespace brood
