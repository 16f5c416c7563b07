#include "supervisor/cli/lists/sequence_list.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"

namespace brood {
namespace {

constexpr std::size_t all_that_wait = 1'000'000;

std::optional<ShownSequence> look_at(ShardConnections::Shard& shard, const std::string& name, std::size_t most) {
  return read_sequence(name, shard.redis.pipeline(ask_sequence(name, most)));
}

}  // namespace

WaitingJob waiting_job(const std::string& payload) {
  try {
    const JsonObject job = JsonObject::parse(payload);
    return {job.string("jid").value_or(""), job.string("class").value_or(""), job.string("queue").value_or("")};
  } catch (const BadJson&) {
    return {};
  }
}

std::string ListedSequence::json(bool with_jobs) const {
  JsonWriter json;
  json.text("name", state.name).text_or_null("holder", state.holder);
  if (state.since > WallTime{})
    json.decimal("since", epoch_seconds(state.since));
  else
    json.null("since");
  json.number("waiting", state.waiting);
  if (with_jobs)
    json.each("jobs", waiting, [](const std::string& payload) {
      const WaitingJob job = waiting_job(payload);
      return JsonWriter().text("jid", job.jid).text("class", job.job_class).text("queue", job.queue).object();
    });
  if (!shard.empty()) json.text("shard", shard);
  return json.object();
}

std::vector<ListedSequence> list_sequences(ShardConnections& shards, std::size_t most) {
  std::vector<ListedSequence> all;
  shards.each([&](ShardConnections::Shard& shard) {
    std::map<std::string, SequenceState> of_shard;  // a scan may return a sequence twice
    for_each_sequence(shard.redis, [&](const SequenceState& sequence) {
      if (of_shard.size() < most) of_shard.insert_or_assign(sequence.name, sequence);
    });
    for (auto& [name, state] : of_shard) all.push_back({std::move(state), shard.address.shard});
  });
  return all;
}

std::optional<ListedSequence> find_sequence(ShardConnections& shards, const std::string& name, std::size_t most) {
  std::optional<ListedSequence> found;
  shards.any([&](ShardConnections::Shard& shard) {
    auto shown = look_at(shard, name, most);
    if (!shown) return false;
    found = ListedSequence{std::move(shown->state), shard.address.shard, std::move(shown->waiting)};
    return true;
  });
  return found;
}

std::size_t delete_waiting(ShardConnections& shards, const std::string& name, const std::vector<std::string>& jids) {
  std::size_t deleted = 0;
  shards.each([&](ShardConnections::Shard& shard) {
    const auto shown = look_at(shard, name, all_that_wait);
    if (!shown) return;
    for (const std::string& payload : shown->waiting) {
      if (std::find(jids.begin(), jids.end(), waiting_job(payload).jid) == jids.end()) continue;
      const Reply removed = shard.redis.run(remove_waiting(name, payload));
      deleted += removed.view().is_integer() && removed.view().integer() == 1 ? 1 : 0;
    }
  });
  return deleted;
}

}  // namespace brood
