#include "shared/store/report/work_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "shared/job/page_text.hpp"
#include "shared/job/payload.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/store/keys.hpp"

namespace brood {

std::string progress_json(const JobProgress& progress) {
  return JsonWriter()
      .number("done", progress.done)
      .number("total", progress.total)
      .text("note", progress.note)
      .object();
}

std::string progress_text(const JobProgress& progress) {
  std::string text = std::to_string(progress.done);
  if (progress.total > 0) {
    const double part = static_cast<double>(progress.done) / static_cast<double>(progress.total);
    text += fmt::format(" of {} ({:.0f} %)", progress.total, std::floor(std::min(part, 1.0) * 100));
  }
  return progress.note.empty() ? text : text + ", " + progress.note;
}

std::optional<RunningJobEntry> read_running_job(std::string_view work, std::string_view jid) {
  try {
    const JsonObject json = JsonObject::parse(work);
    if (JsonObject::parse(json.string("payload").value_or("")).string("jid") != jid) return std::nullopt;
    RunningJobEntry entry{.run_at = json.integer("run_at").value_or(0), .progress = std::nullopt};
    if (const auto progress = json.raw("progress")) {
      const JsonObject said = JsonObject::parse(*progress);
      entry.progress = {std::max<std::int64_t>(said.integer("done").value_or(0), 0),
                        std::max<std::int64_t>(said.integer("total").value_or(0), 0), said.string("note").value_or("")};
    }
    return entry;
  } catch (const BadJson&) {
    return std::nullopt;
  }
}

ScriptCall work_entries(const std::string& identity, const std::vector<BusyWorker>& workers) {
  ScriptCall call{&scripts::work,
                  {keys::work(identity), keys::workers_of_6(identity), keys::in_flight_hash(identity)},
                  {std::to_string(work_lives_seconds)}};
  for (const BusyWorker& worker : workers) {
    call.keys.push_back(keys::in_flight_list(identity, worker.field, worker.queue));
    const std::string shown = worker.neutral_payload.empty() ? "" : json_string(worker.neutral_payload);
    call.args.insert(call.args.end(),
                     {worker.field, std::to_string(worker.number), std::to_string(worker.entry), worker.thread_id,
                      json_string(page_name(worker.queue)), std::to_string(worker.run_at), shown,
                      worker.progress ? ",\"progress\":" + progress_json(*worker.progress) : ""});
  }
  return call;
}

std::vector<Command> ask_work(const std::vector<std::string>& identities) {
  std::vector<Command> commands;
  for (const std::string& identity : identities) {
    commands.push_back({"HGETALL", keys::work(identity)});
    commands.push_back({"HGETALL", keys::workers_of_6(identity)});
  }
  return commands;
}

std::vector<std::vector<WorkEntry>> read_work_entries(std::span<const Reply> replies) {
  std::vector<std::vector<WorkEntry>> all;
  for (std::size_t i = 0; i + 1 < replies.size(); i += 2) {
    // A process may write both, for readers of all releases: then both have the same content.
    const ReplyView newer = replies[i].view();
    const ReplyView hash = newer.is_array() && newer.size() > 0 ? newer : replies[i + 1].view();
    std::vector<WorkEntry>& entries = all.emplace_back();
    for (std::size_t field = 0; hash.is_array() && field + 1 < hash.size(); field += 2)
      entries.push_back({std::string(hash[field].text()), std::string(hash[field + 1].text())});
  }
  return all;
}

Command ask_running(std::string_view identity) { return {"HVALS", keys::work(identity)}; }

std::vector<std::string> read_running(ReplyView reply) {
  std::vector<std::string> running;
  for (std::size_t i = 0; reply.is_array() && i < reply.size(); ++i) {
    if (reply[i].is_string()) running.emplace_back(reply[i].text());
  }
  return running;
}

}  // namespace brood
