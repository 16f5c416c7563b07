#include "supervisor/recovery/orphan_watch.hpp"

#include <utility>

#include "shared/base/log.hpp"
#include "shared/redis/answer_time.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/name_list.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "supervisor/recovery/workers_left.hpp"

namespace brood {

using namespace std::chrono_literals;

namespace {

constexpr auto next_look_at_this_host = 2s;

// The value of one "name:value" line of INFO.
std::string info_line(std::string_view info, std::string_view name) {
  const std::string start = "\n" + std::string(name) + ":";
  const std::size_t at = info.find(start);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = info.substr(at + start.size());
  return std::string(rest.substr(0, rest.find_first_of("\r\n")));
}

}  // namespace

OrphanWatch::OrphanWatch(EventLoop& loop, AsyncConnection& redis, Identity own, LivingFields living_fields, Heir& heir)
    : redis_(redis),
      own_(std::move(own)),
      judge_(own_,
             [this](const Identity& dead, const std::string& beat_token) {
               return has_left_files(dead, beat_token, own_.runtime_directory);
             }),
      living_fields_(std::move(living_fields)),
      heir_(heir),
      again_(loop, [this] { look(); }) {}

// After stop() no answer is read any more.
template <typename Read>
void OrphanWatch::ask(const std::vector<Command>& commands, Read read) {
  redis_.send_all(commands, longest_answer_time, [this, read = std::move(read)](const Results& results) {
    looking_ = false;
    try {
      read(results);
    } catch (const UnexpectedReply& error) {
      forget_what_was_seen();
      log::warn("orphan_watch_failed", {{"error", error.what()}});
    }
  });
}

void OrphanWatch::look() {
  if (looking_ || stopped_) return;
  looking_ = true;
  living_before_ = living_fields_();
  ask({ask_owner_records(), ask_incarnations(own_.name)}, [this](const Results& results) { read_processes(results); });
}

void OrphanWatch::read_processes(const Results& results) {
  // The connection itself logs that Redis is away.  Heartbeats that we saw missing must be seen missing anew.
  if (!results[0].error.empty()) return forget_what_was_seen();
  if (results[1].ok()) report_orphan_fields(read_name_list(results[1].reply.view()));
  if (stopped_) return;

  Sightings sightings = identities(read_owner_records(results[0].reply.view()));
  if (sightings.empty()) {
    forget_what_was_seen();
    return heir_.end_look({});
  }
  // The client id changes with every connection and the run id with every start of Redis.
  std::vector<Command> commands{{"INFO", "server"}, {"CLIENT", "ID"}};
  for (const SupervisorDeathJudge::Sighting& sighting : sightings) {
    commands.push_back(ask_whether_beats(sighting.identity.name));
    commands.push_back(ask_beat_token(sighting.identity.name));
  }
  looking_ = true;
  ask(commands,
      [this, sightings = std::move(sightings)](const Results& results) { read_heartbeats(sightings, results); });
}

void OrphanWatch::read_heartbeats(Sightings sightings, const Results& results) {
  std::string conversation;
  if (results[0].ok() && results[1].ok()) {
    const std::string run_id = info_line(results[0].reply.view().text(), "run_id");
    if (!run_id.empty()) conversation = run_id + " " + std::to_string(results[1].reply.view().integer());
  }
  for (std::size_t i = 0; i < sightings.size(); ++i) {
    const AsyncConnection::Result &beats = results[2 * i + 2], &token = results[2 * i + 3];
    if (!beats.error.empty() || !token.error.empty()) return forget_what_was_seen();
    // A question that was refused (by an access list, say) does not count as a missing heartbeat.
    sightings[i].has_heartbeat = read_whether_beats(beats.reply.view()).value_or(true);
    sightings[i].beat_token = read_beat_token(token.reply.view());
  }

  std::set<std::string> listed;
  for (const SupervisorDeathJudge::Sighting& sighting : sightings) listed.insert(sighting.identity.name);
  bool one_of_this_host = false;
  for (const DeadSupervisor& dead : judge_.judge(sightings, conversation, steady_now())) {
    one_of_this_host |= dead.same_host;
    heir_.handle(dead, steady_now());
    if (stopped_) return;
  }
  heir_.end_look(listed);
  if (one_of_this_host) again_.start_in(next_look_at_this_host);
}

void OrphanWatch::report_orphan_fields(const std::vector<std::string>& fields) const {
  // A field is an orphan when it was in use neither before the look nor after it.  One that was in use before may have
  // been left in order since, and one that is in use only now may have been registered while the look was under way.
  const std::set<std::string> living_after = living_fields_();
  for (const std::string& field : fields) {
    if (stopped_) return;
    if (!living_before_.contains(field) && !living_after.contains(field)) heir_.handle_field(field);
  }
}

OrphanWatch::Sightings OrphanWatch::identities(const std::vector<OwnerRecord>& records) {
  Sightings sightings;
  for (const OwnerRecord& record : records) {
    if (record.name == own_.name) continue;
    if (record.identity) {
      SupervisorDeathJudge::Sighting sighting;
      sighting.identity = *record.identity;
      sightings.push_back(std::move(sighting));
    } else if (reported_records_.insert(record.name).second) {
      // Perhaps a later release wrote it: what we do not understand we do not take over.
      log::warn("process_record_not_understood", {{"identity", record.name}});
    }
  }
  return sightings;
}

void OrphanWatch::stop() {
  stopped_ = true;
  redis_.cancel();
  again_.stop();
}

}  // namespace brood
