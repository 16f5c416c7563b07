#include "tests/walk/commands.hpp"

#include <fmt/format.h>

#include "tests/support/eventually.hpp"

namespace brood::walk {

using namespace std::chrono_literals;

namespace {

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

void Commands::pause() {
  Pause pause;
  Shard& shard = scene_.some_shard(pause.shard);
  pause.is_class = scene_.dice.one_in(3);
  const std::vector<std::string> classes{"WalkPlain", "WalkHeavy", "WalkUnique", "WalkAlone"};
  pause.queue = pause.is_class ? scene_.dice.pick(classes) : scene_.dice.pick(all_queues);
  for (const Pause& open : open_pauses_) {
    if (open.shard == pause.shard && open.queue == pause.queue) return;
  }
  const std::string said = pause.is_class ? scene_.command(pause.shard, {"classes", "pause", pause.queue}) : "";
  if (!pause.is_class) shard.server.command({"SADD", "paused", pause.queue});
  const std::string set = pause.is_class ? "brood:paused_classes" : "paused";
  const bool is_paused = shard.server.integer({"SISMEMBER", set, pause.queue}) == 1;  // a full Redis refuses it
  scene_.note(fmt::format("{} {} of shard {} is {}", pause.is_class ? "class" : "queue", pause.queue, pause.shard,
                          is_paused ? "paused" : "not paused: " + said));
  if (!is_paused) return;
  pause.from = now_ns() + 4 * second_ns;  // workers follow within two seconds
  open_pauses_.push_back(pause);
}

void Commands::unpause(bool all) {
  while (!open_pauses_.empty()) {
    Pause pause = open_pauses_.front();
    open_pauses_.erase(open_pauses_.begin());
    pause.until = now_ns();
    scene_.note(fmt::format("{} {} of shard {} goes on", pause.is_class ? "class" : "queue", pause.queue, pause.shard));
    Shard& shard = scene_.site.shards[static_cast<std::size_t>(pause.shard)];
    // The command also puts back waiting jobs, which a full Redis may refuse: the workers do that later.
    const std::string said = pause.is_class ? scene_.command(pause.shard, {"classes", "unpause", pause.queue}) : "";
    if (!pause.is_class) shard.server.command({"SREM", "paused", pause.queue});
    if (shard.server.integer({"SISMEMBER", pause.is_class ? "brood:paused_classes" : "paused", pause.queue}) == 1)
      scene_.find("", "it is not possible to go on with " + pause.queue + ": " + said);
    if (pause.from < pause.until) scene_.book.note_pause(pause);
    if (!all) return;
  }
}

// Changes a waiting job by a command.
void Commands::change_job() {
  const std::vector<std::string> sets{"queue", "queue", "retry", "retry", "schedule", "dead"};
  const std::vector<std::string> verbs{"run", "kill", "delete"};
  const std::string set = scene_.dice.pick(sets), queue = scene_.dice.pick(all_queues);
  std::string verb = set == "queue" ? "delete" : scene_.dice.pick(verbs);
  if (set == "dead" && verb == "kill") verb = "run";
  const int choice = scene_.dice.roll(0, 1'000);
  int index = 0;
  scene_.some_shard(index);
  scene_.book.read();
  std::vector<Whereabouts> waiting = scene_.site.whereabouts();
  std::erase_if(waiting, [&](const Whereabouts& place) {
    return place.shard != index || place.key != (set == "queue" ? "queue:" + queue : set) ||
           place.payload.find("\"jid\":\"w") == std::string::npos;
  });
  if (waiting.empty()) return;
  const std::string& payload = waiting[static_cast<std::size_t>(choice) % waiting.size()].payload;
  const std::string jid = jid_in(payload);
  WalkJob* const job = scene_.book.find(jid);
  if (job == nullptr) return;
  std::vector<std::string> words{set == "queue"      ? "queues"
                                 : set == "retry"    ? "retries"
                                 : set == "schedule" ? "scheduled"
                                                     : "dead",
                                 verb};
  if (set == "queue") words.push_back(queue);
  words.insert(words.end(), {jid, "--yes", "--json"});
  job->was_touched = true;
  if (verb != "delete") job->moved = now_ns();
  const std::string said = scene_.command(index, words);
  if (verb == "delete" && holds(said, "\"done\":1")) job->deleted = now_ns();
  scene_.note(fmt::format("brood {} {} {}: {}", words[0], verb, jid, said.substr(0, said.find('\n'))));
}

// Returns a running job, often a long one that is pushed for this; empty if there is none.
std::string Commands::running_job(Pusher::Kind kind) {
  const bool pushes = !scene_.dice.one_in(3);
  const int choice = scene_.dice.roll(0, 1'000);
  const std::string jid = pushes ? pusher_.push_long(kind) : "";
  std::vector<std::string> running;
  const auto runs = [&] {
    scene_.book.read();
    running = scene_.book.running();
    return jid.empty() || std::find(running.begin(), running.end(), jid) != running.end();
  };
  if (pushes) return eventually(runs, 1s) ? jid : "";
  runs();
  return running.empty() ? "" : running[static_cast<std::size_t>(choice) % running.size()];
}

void Commands::kill_job() {
  const std::vector<Pusher::Kind> kinds{Pusher::plain, Pusher::apart, Pusher::heavy, Pusher::alone, Pusher::items};
  const std::vector<std::string> outcomes{"retry", "dead", "discard"};
  WalkJob::Kill kill;
  kill.outcome = scene_.dice.pick(outcomes);
  const Pusher::Kind kind = scene_.dice.pick(kinds);
  Fleet& fleet = scene_.some_fleet();
  const std::string jid = running_job(kind);
  WalkJob* const job = jid.empty() ? nullptr : scene_.book.find(jid);
  if (job == nullptr || fleet.state() == Fleet::State::ended) return;
  kill.asked = now_ns();
  const std::string url = scene_.site.shards[static_cast<std::size_t>(job->shard)].server.url();
  const CommandResult said =
      scene_.command_at(fleet, {"kill", jid, "--outcome", kill.outcome, "--json", "--redis", url});
  kill.answered = now_ns();
  kill.is_settled = said.status == 0 && holds(said.output, "\"settled\":true");
  scene_.note(fmt::format("brood kill {} --outcome {}: {} {}", jid, kill.outcome, said.status,
                          first_line(said.output + said.errors)));
  if (said.status == 75 && first_line(said.output) == "null") return;
  // The job may have written its end just before.
  ++scene_.excuses.kills;
  job->kills.push_back(kill);
}

void Commands::cancel_job() {
  std::string jid;
  if (scene_.dice.one_in(2)) {
    jid = running_job(scene_.dice.one_in(2) ? Pusher::items : Pusher::items_apart);
  } else {
    const int choice = scene_.dice.roll(0, 1'000);
    std::vector<Whereabouts> scheduled = scene_.site.whereabouts();
    std::erase_if(scheduled, [](const Whereabouts& place) { return place.key != "schedule"; });
    if (!scheduled.empty()) jid = jid_in(scheduled[static_cast<std::size_t>(choice) % scheduled.size()].payload);
  }
  WalkJob* const job = scene_.book.find(jid);
  if (job == nullptr) return;
  const std::int64_t asked = now_ns();
  const std::string said = scene_.command(job->shard, {"cancel", jid, "--json"});
  if (holds(said, "\"was\":\"scheduled\"")) job->deleted = now_ns();
  if (holds(said, "\"was\":\"iterating\"") && job->cancelled == 0) {
    job->cancelled = now_ns();
    job->cancel_asked = asked;
  }
  scene_.note(fmt::format("brood cancel {}: {}", jid, first_line(said)));
}

void Commands::scale() {
  const int workers = scene_.dice.roll(1, 6);
  Fleet& fleet = scene_.some_fleet();
  if (fleet.state() != Fleet::State::running) return;
  const CommandResult said = scene_.command_at(fleet, {"scale", std::to_string(workers), "--json"});
  scene_.note(fmt::format("brood scale {} of fleet {}: {} {}", workers, fleet.name(), said.status,
                          first_line(said.output + said.errors)));
}

}  // namespace brood::walk
