#include "supervisor/cli/lists/shown_job.hpp"

#include <algorithm>

#include "shared/base/clock.hpp"
#include "shared/base/paths.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/job/job_report.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/store/report/work_entries.hpp"
#include "shared/store/worker_field.hpp"
#include "supervisor/cli/access/machine_status.hpp"
#include "supervisor/cli/lists/class_list.hpp"

namespace brood {
namespace {

// Reads "<host>:<pid>:<nonce>"; a host may have colons in its name.
ShownJob::Holder holder_of(const PlacedJob& placed) {
  ShownJob::Holder holder;
  const std::string& identity = placed.identity;
  const std::size_t nonce = identity.rfind(':');
  const std::size_t pid = nonce == identity.npos || nonce == 0 ? identity.npos : identity.rfind(':', nonce - 1);
  holder.host = identity.substr(0, pid);
  if (pid != identity.npos) holder.pid = leading_number<std::int64_t>(identity.substr(pid + 1, nonce - pid - 1));
  if (const auto field = parse_worker_field(placed.field)) holder.slot = field->slot;
  return holder;
}

// Reads the scoreboards of this machine, which are ahead of the heartbeats.
void prefer_scoreboard(ShownJob::Holder& holder, const PlacedJob& placed, const std::string& jid) {
  const MachineStatus machine = read_scoreboards(runtime_directory());
  for (const WorkerStatus& worker : machine.workers) {
    if (worker.state != "busy" || worker.jid != jid || worker.identity != placed.identity || worker.slot != holder.slot)
      continue;
    holder.since = static_cast<std::int64_t>(epoch_seconds(wall_now()) - worker.age);
    holder.progress = worker.progress;
  }
}

ShownJob::Holder ask_holder(Channel& redis, const PlacedJob& placed, const std::string& jid) {
  ShownJob::Holder holder = holder_of(placed);
  const Reply reply = redis.call(ask_running(placed.identity));
  for (const std::string& work : read_running(reply.view())) {
    const auto running = read_running_job(work, jid);
    if (!running) continue;
    holder.since = running->run_at;
    holder.progress = running->progress;
  }
  prefer_scoreboard(holder, placed, jid);
  return holder;
}

bool waits(const PlacedJob& placed) {
  return placed.place == PlacedJob::Place::queue || placed.place == PlacedJob::Place::quarantine;
}

bool has_due_time(const PlacedJob& placed) {
  return placed.place == PlacedJob::Place::schedule || placed.place == PlacedJob::Place::retry;
}

}  // namespace

ShownJob look_for_job(ShardConnections& shards, const std::string& jid) {
  ShownJob shown;
  shown.report.jid = jid;
  shards.any([&](ShardConnections::Shard& shard) {
    LookedUpJob found = look_up_job(shard.redis, jid);
    if (found.report.state == JobState::unknown) return false;
    shown.report = std::move(found.report);
    shown.placed = std::move(found.placed);
    shown.shard = shard.address.shard;
    if (shown.placed && waits(*shown.placed))
      shown.pause = pause_of_job(paused_classes_of(shard.redis), shown.placed->payload);
    if (shown.report.state == JobState::running) shown.holder = ask_holder(shard.redis, *shown.placed, jid);
    return true;
  });
  return shown;
}

std::string shown_job_json(const ShownJob& job) {
  JsonWriter more;
  std::optional<JsonObject> payload;
  if (job.placed) payload = JsonObject::parse(job.placed->payload);  // the search has read it
  const auto member = [&](const char* name) { return payload ? payload->string(name).value_or("") : ""; };
  std::optional<double> due_at;
  if (job.placed && has_due_time(*job.placed)) due_at = leading_number<double>(job.placed->score_text);
  more.text_or_null("class", member("class"))
      .text_or_null("queue", job.placed && !job.placed->queue.empty() ? job.placed->queue : member("queue"))
      .decimal("due_at", due_at)
      .text_or_null("host", job.holder ? job.holder->host : "");
  if (job.holder)
    more.number("pid", job.holder->pid).number("slot", job.holder->slot).number("since", job.holder->since);
  else
    more.null("pid").null("slot").null("since");
  more.json("progress", job.holder && job.holder->progress ? progress_json(*job.holder->progress) : "null")
      .text_or_null("shard", job.shard);
  if (job.pause)
    more.text("paused_class", job.pause->first)
        .number("paused_until", job.pause->second.until)
        .text_or_null("pause_reason", job.pause->second.reason);
  if (job.placed && job.placed->place == PlacedJob::Place::flow)
    more.text("bid", job.placed->bid).number("waits_for_steps", job.placed->waits_for);
  std::string json = report_json(job.report);
  json.back() = ',';
  return json + more.object().substr(1);
}

}  // namespace brood
