#include "supervisor/queues/quarantine_watch.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "shared/redis/pace.hpp"
#include "shared/store/in_flight/quarantined_classes.hpp"
#include "shared/store/sets/job_sets.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto between_looks_at_quarantine = 10s;
constexpr auto pauses_matter_for = 60s;

}  // namespace

void QuarantineWatch::note_pauses(const NameSet& paused_classes, SteadyTime now) {
  if (paused_classes == paused_classes_) return;
  paused_classes_ = paused_classes;
  pauses_matter_ = true;
  pauses_matter_until_ = now + pace_ * pauses_matter_for;
}

void QuarantineWatch::look(SteadyTime now, bool there_is_a_quarantine) {
  if (!there_is_a_quarantine && !pauses_matter_) return;
  if (now < next_look_ || !workers_.others_may_come()) return;
  next_look_ = now + pace_ * between_looks_at_quarantine;
  const std::vector<OccupiedSlot> here = workers_.fetching_slots();
  const auto looks_soon = [now](const OccupiedSlot& slot) { return !runs_a_long_job(*slot.record, now); };
  if (std::any_of(here.begin(), here.end(), looks_soon)) return;  // such a worker looks by itself, between two jobs
  // Only the answer shows whether this was the last look that the pauses need.
  redis_.send(ask_set_size(quarantined_set), longest_answer_time,
              [this, now, until = pauses_matter_until_](const AsyncConnection::Result& size) {
                if (!size.ok() || !size.reply.view().is_integer()) return;
                if (now >= until && until == pauses_matter_until_) pauses_matter_ = false;
                if (size.reply.view().integer() > 0) workers_.call(workers_.capsules_to_call());
              });
}

}  // namespace brood
