#include "supervisor/schedule/periodic_by_class.hpp"

#include <string>
#include <utility>
#include <vector>

#include "shared/classes/rule_by_class.hpp"
#include "shared/config/queue_order.hpp"
#include "shared/json/json.hpp"

namespace brood {
namespace {

bool is_retry(const std::string& json) {
  return json == "true" || json == "false" || json_integer(json).value_or(-1) >= 0;
}

void take_class_options(PeriodicSettings& job, const PublishedClass& known) {
  if (!job.says_queue && is_safe_queue(known.queue)) job.queue = known.queue;
  if (!job.says_retry && is_retry(known.retry)) job.retry = known.retry;
  for (const auto& [name, json] : known.members) {
    if (needs_a_push(name) || (name == "retry_for" && job.says_retry)) continue;
    job.members += ",\"" + name + "\":" + json;
  }
}

}  // namespace

PeriodicJobSettings by_class(PeriodicJobSettings jobs, const PublishedClasses& classes) {
  for (auto& [name, job] : jobs) {
    if (!job.goes_by_class) continue;
    const std::vector<PublishedClasses::Said> said = classes.find(job.job_class);
    if (!said.empty()) take_class_options(job, said.front().known);
  }
  return jobs;
}

}  // namespace brood
