#include "tests/walk/walk.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/walk/batch_book.hpp"

namespace brood::walk {

using namespace std::chrono_literals;

namespace {

std::string class_in(const std::string& payload) {
  const std::string mark = "\"class\":\"";
  const std::size_t at = payload.find(mark);
  if (at == std::string::npos) return "";
  return payload.substr(at + mark.size(), payload.find('"', at + mark.size()) - at - mark.size());
}

// Workers follow within two seconds.  A job that was set aside by a worker without the news comes back some seconds
// later.
constexpr auto longest_after_pause = 30s;

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// Whether a supervisor has waited for Redis for more than half a second, as happens on an overloaded machine.
bool was_slow(const std::string& log) {
  const std::string mark = "event=redis_is_slow rtt_us=";
  for (std::size_t at = log.find(mark); at != std::string::npos; at = log.find(mark, at + 1)) {
    if (std::stol(log.substr(at + mark.size())) > 500'000) return true;
  }
  return false;
}

}  // namespace

Walk::Walk(const WalkOptions& options)
    : scene_(options),
      pusher_(scene_),
      batches_(scene_, pusher_),
      commands_(scene_, pusher_),
      config_(with_site(draw_config(scene_.dice, scene_.shape.all_shards()), Spare::absent)) {}

DrawnConfig Walk::with_site(DrawnConfig config, Spare spare) {
  config.site = scene_.site.config(spare, scene_.dice.roll(1, 2));
  return config;
}

bool Walk::run() {
  scene_.note("the first configuration:\n" + config_.text + config_.site);
  for (Fleet& fleet : scene_.site.fleets) fleet.start(config_);
  for (int i = 0; i < scene_.options.actions; ++i) {
    act();
    std::this_thread::sleep_for(std::chrono::milliseconds(scene_.dice.roll(0, 150)));
    for (Fleet& fleet : scene_.site.fleets) fleet.follow_restarts();
  }
  let_go();
  const bool rests = come_to_rest();
  scene_.book.read();
  if (rests) {
    wait_until_dead_are_inherited();
    check_status();
  }
  const std::vector<Whereabouts> left = scene_.site.whereabouts();
  const std::vector<FoundBatch> batches = scene_.site.batches();
  stop_all();
  scene_.excuses.longest_stall_ns = scene_.stalls.longest_ns();
  Caps caps;
  for (const Fleet& fleet : scene_.site.fleets) {
    scene_.excuses.redis_was_slow |= was_slow(fleet.log());
    caps.of_queue.insert(caps.of_queue.end(), fleet.queue_caps().begin(), fleet.queue_caps().end());
    caps.of_class.insert(caps.of_class.end(), fleet.class_caps().begin(), fleet.class_caps().end());
    caps.of_tenant.insert(caps.of_tenant.end(), fleet.tenant_caps().begin(), fleet.tenant_caps().end());
  }
  for (Finding& finding : scene_.book.judge(left, scene_.excuses, caps)) scene_.findings.push_back(std::move(finding));
  if (rests) {
    for (Finding& finding : judge_batches(scene_.book, batches, left, batches_.cancelled()))
      scene_.findings.push_back(std::move(finding));
    for (const std::string& what : scene_.site.leftovers()) scene_.find("", what);
  }
  for (const std::string& what : scene_.site.secrets_in_clear()) scene_.find("", what);
  return scene_.findings.empty();
}

void Walk::act() {
  const int what = scene_.dice.weighted({40, 4, 1, 5, 3, 2, 3, 2, 3, 3, 3, 2, 3, 1, 3, 2, 2, 2, 7, 2, 2, 1});
  switch (what) {
    case 0:
      return pusher_.push();
    case 1:
      return hup(false);
    case 2:
      return hup(true);
    case 3:
      return kill_helper();
    case 4:
      return end_supervisor();
    case 5:
      return quiet_or_resume();
    case 6:
      return commands_.pause();
    case 7:
      return commands_.unpause(false);
    case 8:
      return restart_redis();
    case 9:
      return lose_reply();
    case 10:
      return commands_.change_job();
    case 11:
      scene_.note("retries are due");
      return scene_.site.make_due("retry");
    case 12:
      scene_.note("what is scheduled is due");
      return scene_.site.make_due("schedule");
    case 13: {
      Fleet& fleet = scene_.some_fleet();
      if (fleet.state() != Fleet::State::running) return;
      scene_.note("fleet " + fleet.name() + " is upgraded in place");
      return fleet.take_over();
    }
    case 14:
      return commands_.kill_job();
    case 15:
      return commands_.cancel_job();
    case 16:
      return commands_.scale();
    case 17:
      return fill_or_make_room();
    case 18:
      return batches_.push();
    case 19:
      return batches_.reopen();
    case 20:
      return batches_.cancel();
    default: {
      const int ms = scene_.dice.roll(200, 1500);
      scene_.note(fmt::format("nothing for {} ms", ms));
      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    }
  }
}

void Walk::hup(bool bad) {
  const std::vector<Spare> spares{Spare::absent, Spare::served, Spare::drained};
  config_ = draw_config(scene_.dice, scene_.shape.all_shards());
  config_ = with_site(std::move(config_), scene_.dice.pick(spares));
  scene_.site.use_library(bad);
  scene_.note(std::string(bad ? "HUP with a bad library" : "HUP") + ", configuration:\n" + config_.text + config_.site);
  for (Fleet& fleet : scene_.site.fleets) {
    if (fleet.state() == Fleet::State::running) fleet.hup(config_);
  }
}

void Walk::kill_helper() {
  const std::vector<std::string> wanted{
      "brood: worker", "brood: worker", "brood: recovery", "brood: template", "brood: fork", "brood: job", ""};
  const std::string title = scene_.dice.pick(wanted);
  const int choice = scene_.dice.roll(0, 1'000);
  Fleet& fleet = scene_.some_fleet();
  std::vector<Helper> helpers = fleet.helpers();
  if (std::any_of(helpers.begin(), helpers.end(),
                  [&](const Helper& helper) { return helper.title.starts_with(title); }))
    std::erase_if(helpers, [&](const Helper& helper) { return !helper.title.starts_with(title); });
  if (helpers.empty()) return;
  const Helper& victim = helpers[static_cast<std::size_t>(choice) % helpers.size()];
  if (::kill(victim.pid, SIGKILL) != 0) return;
  ++scene_.excuses.kills;
  scene_.note(fmt::format("kill -9 {} of fleet {}, {}", victim.pid, fleet.name(), victim.title));
}

void Walk::end_supervisor() {
  const int how = scene_.dice.roll(0, 5), pause = scene_.dice.roll(0, 500);
  Fleet& fleet = scene_.some_fleet();
  if (fleet.state() == Fleet::State::ended) {
    scene_.note("fleet " + fleet.name() + " starts");
    return fleet.start(config_);
  }
  if (how <= 2) {
    scene_.note("kill -9 the supervisor of fleet " + fleet.name());
    fleet.kill9();
  } else if (how == 3) {
    scene_.note("kill -9 the supervisor of fleet " + fleet.name() + " and all its workers");
    // A command may have changed the number.
    const int workers = std::max(fleet.config().workers, static_cast<int>(fleet.process().workers().size()));
    scene_.excuses.lost_batches += 32 * workers;
    scene_.excuses.kills += workers;
    fleet.kill9_with_workers();
  } else {
    scene_.note("fleet " + fleet.name() + " stops");
    const std::optional<int> status = fleet.stop();
    if (status != 0) scene_.find("", fmt::format("fleet {} ended with status {}", fleet.name(), status.value_or(-1)));
  }
  if (pause < 250 && scene_.shape.has_two_fleets) return;  // it starts later
  std::this_thread::sleep_for(std::chrono::milliseconds(pause));
  scene_.note("fleet " + fleet.name() + " starts");
  fleet.start(config_);
}

void Walk::quiet_or_resume() {
  Fleet& fleet = scene_.some_fleet();
  if (fleet.state() == Fleet::State::running) {
    scene_.note("fleet " + fleet.name() + " is quiet");
    fleet.quiet();
  } else if (fleet.state() == Fleet::State::quiet) {
    scene_.note("fleet " + fleet.name() + " resumes");
    fleet.resume();
  }
}

void Walk::restart_redis() {
  int index = 0;
  Shard& shard = scene_.some_shard(index);
  const int away = scene_.dice.one_in(3) ? scene_.dice.roll(100, 1'500) : 0;
  scene_.note(fmt::format("Redis of shard {} is killed, and is away for {} ms", index, away));
  shard.server.kill9();
  std::this_thread::sleep_for(std::chrono::milliseconds(away));
  shard.server.restart();
}

void Walk::fill_or_make_room() {
  int index = 0;
  Shard& shard = scene_.some_shard(index);
  scene_.note(fmt::format("Redis of shard {} {}", index, shard.is_full ? "has room again" : "is full"));
  if (shard.is_full)
    shard.make_room();
  else
    shard.fill();
}

// Cuts off the next answer or request of any connection.  In half of the cases pushes at once, so that probably the
// walk's own client loses the answer.
void Walk::lose_reply() {
  int index = 0;
  Shard& shard = scene_.some_shard(index);
  const bool of_push = scene_.dice.one_in(2);
  const auto bytes = static_cast<std::size_t>(of_push ? 0 : std::max(0, scene_.dice.roll(-200, 600)));
  switch (of_push ? 3 : scene_.dice.roll(0, 3)) {
    case 0:
      scene_.note(fmt::format("all connections to shard {} are reset", index));
      return shard.proxy.reset_connections();
    case 1:
      scene_.note(fmt::format("a request to shard {} is lost after {} bytes", index, bytes));
      return shard.proxy.cut_requests_after(bytes);
    default:
      scene_.note(fmt::format("a reply of shard {} is lost after {} bytes", index, bytes));
      shard.proxy.cut_replies_after(bytes);
  }
  if (of_push) pusher_.push();
}

// Ends all pauses, and makes running fleets serve every queue with the good library, so that each job can end.
void Walk::let_go() {
  scene_.note("all is let go");
  scene_.site.use_library(false);
  config_ = with_site(last_config(scene_.dice, scene_.shape.all_shards()), Spare::served);
  for (Shard& shard : scene_.site.shards) {
    if (shard.is_full) shard.make_room();
    shard.proxy.reset_connections();
    if (shard.client->drain(10s) > 0) scene_.find("", "a client could not push what it had kept");
  }
  commands_.unpause(true);
  batches_.cancel_unreturned();
  for (Fleet& fleet : scene_.site.fleets) {
    if (fleet.state() == Fleet::State::quiet) fleet.resume();
    if (fleet.state() == Fleet::State::ended)
      fleet.start(config_);
    else
      fleet.hup(config_);
  }
}

// The time after which a walk without progress is stuck.
//
// brood itself leaves some things to a look that comes once a minute.  If a supervisor was killed while it did not
// serve the spare shard, it has no files any more when that shard is served again: then its heartbeat must expire, and
// stay away for a minute.  The patience for a planted bug is shorter, but more than 30 seconds: after that, jobs come
// back that a worker sets aside for a cap that no longer exists.
std::chrono::seconds Walk::longest_rest() const {
  return !scene_.options.planted.empty() ? 40s : scene_.shape.has_spare ? 150s : 80s;
}

// Waits until no job is left except in `dead`.  Returns false if none has moved for longest_rest().
bool Walk::come_to_rest() {
  std::size_t before = SIZE_MAX;
  const auto patience = longest_rest();
  const auto began = std::chrono::steady_clock::now();
  auto moved = began, free_since = began;
  std::string last;
  for (;;) {
    scene_.site.make_due("retry");
    scene_.site.make_due("schedule");
    std::string all;
    std::set<std::pair<int, std::string>> laid_aside;  // by shard and class
    std::size_t left = 0;
    for (const Whereabouts& place : scene_.site.whereabouts()) {
      if (place.key == "dead") continue;
      ++left;
      all += place.key + place.payload;
      if (place.key != "brood:quarantined") continue;
      laid_aside.insert({place.shard, class_in(place.payload)});
    }
    if (left == 0) return true;
    bool is_in_quarantine = false;
    for (const auto& [shard, job_class] : laid_aside) {
      if (scene_.site.shards[static_cast<std::size_t>(shard)].server.hget("brood:quarantine", job_class))
        is_in_quarantine = scene_.command(shard, {"quarantine", "release", job_class}).size() > 0;
    }
    const auto now = std::chrono::steady_clock::now();
    if (all != last) moved = now;
    last = std::move(all);
    before = left;
    if (laid_aside.empty() || is_in_quarantine) free_since = now;
    if (now - free_since > longest_after_pause) {
      scene_.find("",
                  fmt::format("jobs of {} still lie aside after the end of all pauses", laid_aside.begin()->second));
      return false;
    }
    if (now - moved > patience || now - began > 2 * patience) {
      scene_.find("", fmt::format("{} jobs do not move", before));
      return false;
    }
    std::this_thread::sleep_for(100ms);
  }
}

// All jobs of a dead supervisor may have run elsewhere before a living one removes its record.
void Walk::wait_until_dead_are_inherited() {
  std::string dead;
  const auto are_inherited = [&] {
    dead.clear();
    for (Shard& shard : scene_.site.shards) {
      for (const auto& process : shard.server.hgetall("brood:processes")) {
        const std::string& identity = process.first;
        const bool lives = std::any_of(scene_.site.fleets.begin(), scene_.site.fleets.end(), [&](Fleet& fleet) {
          return identity.find(fmt::format(":{}:", fleet.process().pid())) != identity.npos;
        });
        if (!lives) dead += " " + identity;
      }
    }
    return dead.empty();
  };
  if (!eventually(are_inherited, longest_rest())) scene_.find("", "no supervisor inherits from" + dead);
}

void Walk::check_status() {
  for (Fleet& fleet : scene_.site.fleets) {
    // A restart undoes a scale.
    const auto workers = static_cast<std::size_t>(fleet.config().workers);
    if (!eventually([&] { return fleet.process().workers().size() == workers; }, 30s))
      scene_.find("", fmt::format("fleet {} has {} workers, and should have {}", fleet.name(),
                                  fleet.process().workers().size(), workers));
    const CommandResult status =
        run_brood({"status", "--json", "--redis", scene_.site.shards[0].server.url()}, fleet.process().environment());
    for (std::size_t at = status.output.find(":-"); at != std::string::npos; at = status.output.find(":-", at + 1)) {
      if (at + 2 < status.output.size() && std::isdigit(static_cast<unsigned char>(status.output[at + 2])) != 0)
        scene_.find("", "a number of the status is negative: " + status.output.substr(at > 60 ? at - 60 : 0, 90));
    }
  }
}

void Walk::stop_all() {
  for (Fleet& fleet : scene_.site.fleets) {
    if (fleet.state() == Fleet::State::ended) continue;
    const std::optional<int> status = fleet.stop();
    if (status != 0) scene_.find("", fmt::format("fleet {} ended with status {}", fleet.name(), status.value_or(-1)));
  }
}

std::string Walk::findings() const {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(scene_.findings.size(), 3); ++i)
    text += fmt::format("  {} {}\n", scene_.findings[i].jid, scene_.findings[i].what.substr(0, 150));
  return text;
}

void Walk::keep_logs(const std::string& directory) const {
  for (const Fleet& fleet : scene_.site.fleets)
    std::ofstream(fmt::format("{}/walk-{}-{}.log", directory, scene_.options.seed, fleet.name())) << fleet.log();
}

std::string Walk::report() const {
  std::ostringstream text;
  text << fmt::format("seed {}: {} shards{}, {} fleets{}\n", scene_.options.seed, scene_.shape.shards,
                      scene_.shape.has_spare ? " and a spare one" : "", scene_.site.fleets.size(),
                      scene_.options.planted.empty() ? "" : ", planted " + scene_.options.planted);
  const std::size_t most = 200;
  for (std::size_t i = 0; i < scene_.actions.size(); ++i) {
    if (i == 0 || scene_.actions.size() - i <= most) text << scene_.actions[i] << "\n";
  }
  std::size_t shown = 0;
  for (const Finding& finding : scene_.findings) {
    text << "FOUND " << finding.jid << (finding.jid.empty() ? "" : ": ") << finding.what << "\n";
    if (finding.jid.empty() || ++shown > 8) continue;
    text << scene_.book.history(finding.jid, scene_.began);
    for (const Fleet& fleet : scene_.site.fleets) {
      std::istringstream log(fleet.log());
      for (std::string line; std::getline(log, line);) {
        if (holds(line, finding.jid)) text << "  " << fleet.name() << " " << line.substr(0, 400) << "\n";
      }
    }
  }
  for (const Fleet& fleet : scene_.site.fleets) {
    const std::string log = fleet.log();
    constexpr std::size_t tail = 6'000;
    text << "the log of fleet " << fleet.name() << " ends:\n" << log.substr(log.size() > tail ? log.size() - tail : 0);
  }
  return text.str();
}

}  // namespace brood::walk
