#include "shared/store/report/work_entries.hpp"

#include "shared/job/page_text.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/keys.hpp"

namespace brood {

ScriptCall work_entries(const std::string& identity, const std::vector<BusyWorker>& workers) {
  ScriptCall call{&scripts::work,
                  {keys::work(identity), keys::workers_of_6(identity), keys::in_flight_hash(identity)},
                  {std::to_string(work_lives_seconds)}};
  for (const BusyWorker& worker : workers) {
    call.keys.push_back(keys::in_flight_list(identity, worker.field, worker.queue));
    const std::string shown = worker.neutral_payload.empty() ? "" : json_string(worker.neutral_payload);
    call.args.insert(call.args.end(),
                     {worker.field, std::to_string(worker.number), std::to_string(worker.entry), worker.thread_id,
                      json_string(page_name(worker.queue)), std::to_string(worker.run_at), shown});
  }
  return call;
}

}  // namespace brood
