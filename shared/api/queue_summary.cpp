#include "shared/api/queue_summary.hpp"

#include <utility>

#include "shared/api/pages.hpp"

namespace brood {

QueueSummary summary_of(std::string name, const QueueGlance& glance) {
  QueueSummary summary{.name = std::move(name)};
  summary.is_list = glance.jobs.has_value();
  summary.size = static_cast<std::size_t>(glance.jobs.value_or(0));
  summary.latency = glance.next_job ? latency_of(*glance.next_job) : 0;
  summary.paused = glance.paused;
  return summary;
}

}  // namespace brood
