#include "supervisor/restart/rolling_restart.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/config/shard_places.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/restart/added_shards.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

std::string_view name_of(RollingRestart::Outcome outcome) {
  switch (outcome) {
    case RollingRestart::Outcome::done:
      return "done";
    case RollingRestart::Outcome::refused:
      return "refused";
    case RollingRestart::Outcome::rolled_back:
      return "rolled_back";
    case RollingRestart::Outcome::not_now:
      return "not_now";
  }
  return "unknown";
}

JsonWriter json_of(const RollingRestart::Result& result) {
  return JsonWriter()
      .text("outcome", name_of(result.outcome))
      .text_or_null("reason", result.reason)
      .truth("scale", result.is_scale)
      .decimal("took", std::chrono::duration<double>(result.took).count())
      .decimal("at", epoch_seconds(result.at));
}

int write_answer(const std::string& refusal, int to) {
  if (refusal.empty()) return EX_OK;
  return write(to, refusal.data(), refusal.size()) < 0 ? EX_OSERR : EX_CONFIG;
}

}  // namespace

RollingRestart::RollingRestart(EventLoop& loop, Children& children, WorkerSuccession& workers, ConfigSource source,
                               ProgramOf program_of)
    : workers_(workers),
      source_(std::move(source)),
      program_of_(std::move(program_of)),
      check_(children),
      wake_(loop),
      present_(workers.present()),
      last_number_(workers.largest_number()) {}

std::optional<RollingRestart::News> RollingRestart::next_news() {
  if (news_.empty()) return std::nullopt;
  const News next = news_.front();
  news_.pop_front();
  return next;
}

void RollingRestart::restart(std::optional<ControlSocket::Reply> asked_by) {
  if (under_way()) {
    if (!waiting_) waiting_.emplace();
    if (!asked_by) return;
    asked_by->progress("another restart is under way; this one begins after it");
    waiting_->push_back(std::move(*asked_by));
    return;
  }
  if (asked_by) clients_.push_back(std::move(*asked_by));
  begin();
}

void RollingRestart::begin() {
  began_ = steady_now();
  is_scale_ = has_canary_ = false;
  step_ = Step::checking;
  told_.forget();
  news_.push_back(News::begun);
  try {
    log::reopen();
  } catch (const std::system_error& error) {
    log::warn("log_not_reopened", {{"reason", error.what()}});
  }
  log::info("restart_begins", {{"generation", present_->number}});
  read_at_ = redis_now();
  try {
    file_ = source_.file();
    needed_.reset(check("memfd_create", memfd_create("needed-objects", MFD_CLOEXEC)));
    check_.begin(
        {.title = "brood: check", .keep = {needed_.get()}, .what = "reading the configuration"},
        [this](int to) { return write_flaw_of_file(to); },
        [this](const std::string& refusal) { refusal.empty() ? was_read() : fail(Outcome::refused, refusal); });
  } catch (const std::system_error& error) {
    fail(Outcome::rolled_back, error.what());
  } catch (const std::runtime_error& error) {
    fail(Outcome::refused, error.what());
  }
}

// Runs in a child.
int RollingRestart::write_flaw_of_file(int to) const {
  try {
    source_.try_out(file_, *present_->config, needed_.get());
    return EX_OK;
  } catch (const std::runtime_error& error) {  // in the configuration or a file that it names
    return write_answer(error.what(), to);
  }
}

void RollingRestart::was_read() {
  try {
    const auto config = source_.read(file_, *present_->config, needed_.get());
    needed_.reset();
    if (const std::string why = why_not_served(present_->config->redis, config->redis); !why.empty())
      return fail(Outcome::refused, why);
    leaving_ = places_left_empty(present_->config->redis, config->redis);
    // Takes a number whose runs are counted apart from the present generation's.
    while (++last_number_ % generations_counted == present_->number % generations_counted) {
    }
    next_ = std::make_shared<Generation>(Generation{last_number_, config, program_of_(config)});
    check_.begin(
        {.title = "brood: check", .keep = next_->program->descriptors(), .what = "loading the job libraries"},
        [this](int to) { return write_refusal(to); }, [this](const std::string& refusal) { checked(refusal); });
  } catch (const std::system_error& error) {
    fail(Outcome::rolled_back, error.what());
  } catch (const std::runtime_error& error) {
    fail(Outcome::refused, error.what());
  }
}

// Runs in a child.
int RollingRestart::write_refusal(int to) const {
  const std::string refusal = leaving_.empty() ? "" : present_->program->why_not_removable(leaving_);
  return write_answer(refusal.empty() ? next_->program->why_not_usable() : refusal, to);
}

void RollingRestart::checked(const std::string& refusal) {
  if (!refusal.empty()) return fail(Outcome::refused, refusal);
  if (next_->config->restart.canary) return check_return();
  bring_next();
}

// Checks whether new workers of the old generation could load the old libraries.
void RollingRestart::check_return() {
  has_canary_ = true;
  const auto held = present_->config->held;
  if (present_->is_of_another_program)
    return return_checked("the program was upgraded, and what its workers did before is forgotten");
  if (!held || held->moved().empty()) return return_checked(held ? held->flaw() : "");  // the files have not moved
  if (const std::string flaw = held->flaw(); !flaw.empty()) return return_checked(flaw);
  try {
    check_.begin(
        {.title = "brood: check", .keep = present_->program->descriptors(), .what = "loading the old job libraries"},
        [this](int to) { return write_answer(present_->program->why_not_usable(), to); },
        [this](const std::string& refusal) { return_checked(refusal); });
  } catch (const std::system_error& error) {
    return_checked(error.what());
  }
}

void RollingRestart::return_checked(const std::string& refusal) {
  if (!refusal.empty()) {
    has_canary_ = false;
    log::warn("restart_without_canary", {{"reason", refusal}, {"hint", "the new workers stay, whatever they do"}});
  }
  bring_next();
}

void RollingRestart::bring_next() {
  try {
    workers_.bring(next_);
    if (has_canary_) canary_.begin(workers_.tallies(next_->number));
    roll();
  } catch (const std::system_error& error) {
    fail(Outcome::rolled_back, error.what());
  }
}

void RollingRestart::roll() {
  step_ = Step::rolling;
  roll_.emplace(next_->config->max_unavailable, next_->config->boot_timeout);
  news_.push_back(News::capsules_changed);
}

void RollingRestart::scale(int workers, const std::string& capsule, const ControlSocket::Reply& asked_by) {
  if (under_way()) {
    const Result refusal{
        .outcome = Outcome::not_now, .reason = "a restart is under way", .is_scale = true, .at = wall_now()};
    return asked_by.undone(refusal.reason, json_of(refusal).object());
  }
  began_ = steady_now();
  is_scale_ = true;
  has_canary_ = false;
  leaving_.clear();
  clients_.push_back(asked_by);
  Config config = *present_->config;
  const auto found = std::find_if(config.capsules.begin(), config.capsules.end(),
                                  [&](const CapsuleSettings& settings) { return settings.name == capsule; });
  if (found == config.capsules.end()) return fail(Outcome::refused, "there is no capsule named " + capsule);
  const int before = std::exchange(found->concurrency, workers);
  log::info("scale_begins", {{"capsule", capsule}, {"from", before}, {"to", workers}});
  const int index = static_cast<int>(found - config.capsules.begin());
  const auto shared = std::make_shared<const Config>(std::move(config));
  next_ = std::make_shared<Generation>(
      Generation{present_->number, shared, program_of_(shared), present_->is_of_another_program});
  try {
    workers_.resize(next_, index);
    roll();
  } catch (const std::system_error& error) {
    fail(Outcome::rolled_back, error.what());
  }
}

void RollingRestart::advance(SteadyTime now) {
  if (step_ == Step::none && waiting_) begin_what_waits();
  go_on(now);
  std::optional<SteadyTime> next = rolls() ? roll_->next_look() : std::nullopt;
  if (step_ == Step::none && waiting_) next = now;
  if (all_are_new()) next = std::min(next.value_or(next_look_), next_look_);
  wake_.start_at(next);
}

void RollingRestart::go_on(SteadyTime now) {
  if (now >= next_look_) look_at_runs(now);
  if (rolls()) {
    std::vector<RollPlace> places = workers_.roll_places();
    // Additional workers replace no other workers.
    if (is_scale_) std::erase_if(places, [](const RollPlace& place) { return !place.fresh; });
    const RollStep step = roll_->next(places, now);
    for (const int place : step.start) workers_.start(place);
    for (const int place : step.give_up) workers_.give_up(place);
    if (step.verdict == RollStep::Verdict::done && step_ == Step::rolling) {
      step_ = Step::watching;
      watched_since_ = now;
    }
    if (step_ == Step::watching && step.verdict != RollStep::Verdict::failed && may_end(now)) return prove();
    if (step.verdict == RollStep::Verdict::failed) return fail(Outcome::rolled_back, roll_->reason());
  }
  tell_progress(now);
}

// Called also while no restart is under way: new workers will be compared with the old ones.
void RollingRestart::look_at_runs(SteadyTime now) {
  next_look_ = now + Canary::between_looks;
  const bool compares = rolls() && has_canary_;
  canary_.note(workers_.tallies(present_->number), compares ? workers_.tallies(next_->number) : std::vector<RunTally>(),
               now);
  if (compares && canary_.alarm()) take_back(Canary::Alarm(*canary_.alarm()));
}

void RollingRestart::take_back(const Canary::Alarm& alarm) {
  const bool crashed = alarm.way == Canary::Way::crashed;
  const std::string job_class = workers_.class_of_entry(alarm.job_class);
  const auto share = [](double bad, double runs) { return fmt::format("{:.0f} of {:.0f}", bad, runs); };
  const std::string before = share(alarm.bad_before, alarm.runs_before),
                    after = share(alarm.bad_after, alarm.runs_after),
                    certainty = fmt::format("{:.4f}%", std::min(100 * alarm.certainty, 99.9999));
  log::error("restart_rolled_back", {{"class", job_class},
                                     {"what", crashed ? "crashed" : "failed"},
                                     {"before", before},
                                     {"after", after},
                                     {"certainty", certainty},
                                     {"generation", next_->number},
                                     {"back_to", present_->number}});
  fail(Outcome::rolled_back,
       fmt::format("{} jobs {} in new workers: {} runs did, and {} in the old ones; certain to {}",
                   job_class.empty() ? "some" : job_class, crashed ? "crash more" : "fail more", after, before,
                   certainty));
}

bool RollingRestart::may_end(SteadyTime now) {
  if (!has_canary_ || now - *watched_since_ >= next_->config->restart.canary_watch) return true;
  return canary_.may_end(workers_.fresh_classes(), workers_.tallies(next_->number));
}

void RollingRestart::note_end(const EndedWorker& worker, SteadyTime now) {
  if (!rolls() || !worker.exit.is_fresh) return;
  roll_->note_death({.place = worker.exit.place,
                     .in_order = worker.end.in_order,
                     .refused = !worker.exit.ready_at && worker.exit.status.exited &&
                                (worker.exit.status.value == EX_CONFIG || worker.exit.status.value == EX_TEMPFAIL),
                     .began_a_job = worker.end.began_a_job,
                     .was_ready = worker.exit.ready_at.has_value(),
                     .ready_for = worker.exit.ready_at ? now - *worker.exit.ready_at : 0ns,
                     .how = worker.exit.status.describe()});
}

// Looks again: jobs may have been pushed there since the first look.
void RollingRestart::prove() {
  if (leaving_.empty()) return succeed();
  step_ = Step::proving;
  try {
    check_.begin(
        {.title = "brood: check", .what = "looking whether shards are empty"},
        [this](int to) { return write_answer(present_->program->why_not_removable(leaving_), to); },
        [this](const std::string& refusal) {
          step_ = Step::watching;
          if (refusal.empty()) return succeed();
          fail(Outcome::rolled_back, refusal);
        });
  } catch (const std::system_error& error) {
    fail(Outcome::rolled_back, error.what());
  }
}

void RollingRestart::succeed() {
  workers_.adopt_fresh();
  if (!is_scale_) {
    canary_.end(true);
    loaded_at_ = read_at_;
  }
  present_ = std::exchange(next_, nullptr);
  news_.insert(news_.end(), {News::generation_changed, News::capsules_changed, News::adopted});
  step_ = Step::concluding;
}

void RollingRestart::fail(Outcome outcome, std::string why) {
  if (step_ == Step::proving) check_.abandon();
  if (rolls()) {
    workers_.drop_fresh();
    if (!is_scale_) canary_.end(false);
    if (is_scale_) workers_.put_back(present_);
    news_.push_back(News::capsules_changed);
  }
  end(outcome, std::move(why));
}

void RollingRestart::end(Outcome outcome, std::string why) {
  const SteadyTime now = steady_now();
  step_ = Step::none;
  roll_.reset();
  next_.reset();
  file_ = {};
  needed_.reset();
  last_ = Result{outcome, why, is_scale_, now - began_, wall_now()};
  if (!is_scale_) {
    last_restart_ = last_;
    ++ended_[outcome];
  }
  const std::string took = fmt::format("{:.1f}s", std::chrono::duration<double>(last_->took).count());
  const std::string_view event = is_scale_ ? "scale_ended" : "restart_ended";
  if (outcome == Outcome::done)
    log::info(event, {{"outcome", name_of(outcome)}, {"took", took}, {"generation", present_->number}});
  else
    log::error(event, {{"outcome", name_of(outcome)}, {"reason", why}, {"generation", present_->number}});
  for (const ControlSocket::Reply& client : std::exchange(clients_, {})) client.ok(answer());
  if (!waiting_) news_.push_back(News::ended);
}

// Begins a turn after the previous restart has ended and the supervisor uses its result.
void RollingRestart::begin_what_waits() {
  const std::vector<ControlSocket::Reply> waiting = *std::exchange(waiting_, std::nullopt);
  clients_.insert(clients_.end(), waiting.begin(), waiting.end());
  begin();
}

std::string RollingRestart::answer() const {
  return json_of(*last_)
      .number("workers", present_->config->concurrency())
      .number("finishing", workers_.finishing())
      .number("generation", present_->number)
      .object();
}

void RollingRestart::await(const ControlSocket::Reply& reply) {
  if (under_way()) {
    clients_.push_back(reply);
    told_.forget();
  } else if (last_) {
    reply.ok(answer());
  } else {
    reply.ok(JsonWriter().text("outcome", "not_now").text("reason", "no restart is under way").object());
  }
}

void RollingRestart::abandon(const std::string& why) {
  if (!under_way()) return;
  if (waiting_) log::warn("restart_refused", {{"reason", why}});
  const std::vector<ControlSocket::Reply> waiting =
      std::exchange(waiting_, std::nullopt).value_or(std::vector<ControlSocket::Reply>());
  check_.abandon();
  // Either all workers are new and nothing speaks against them, or surplus workers leave and have been ordered to
  // finish.
  const bool is_as_good_as_done =
      (step_ == Step::watching && leaving_.empty()) || (is_scale_ && step_ == Step::rolling && nobody_is_fresh());
  if (step_ != Step::none && step_ != Step::concluding && !is_as_good_as_done) {
    clients_.insert(clients_.end(), waiting.begin(), waiting.end());
    return fail(Outcome::not_now, why);
  }
  if (is_as_good_as_done) succeed();
  if (step_ == Step::none) news_.push_back(News::ended);
  const Result refusal{.outcome = Outcome::not_now, .reason = why, .at = wall_now()};
  for (const ControlSocket::Reply& client : waiting) client.ok(json_of(refusal).object());
}

bool RollingRestart::nobody_is_fresh() const {
  const std::vector<RollPlace> places = workers_.roll_places();
  return std::none_of(places.begin(), places.end(), [](const RollPlace& place) { return place.fresh; });
}

void RollingRestart::tell_progress(SteadyTime now) {
  if (clients_.empty()) return;
  const std::string sentence = status();
  if (!told_.is_due(sentence, now)) return;
  for (const ControlSocket::Reply& client : clients_) client.progress(sentence);
}

std::string RollingRestart::status() const {
  if (step_ == Step::watching)
    return fmt::format("restarting: all {} workers are new, and watched for {:g}s at most",
                       next_->config->concurrency(),
                       std::chrono::duration<double>(next_->config->restart.canary_watch).count());
  if (step_ == Step::proving) return "restarting: looking whether the shards that are taken out are empty";
  if (step_ == Step::checking) return "restarting: checking the configuration and the job libraries";
  if (step_ == Step::rolling) {
    int fresh = 0, ready = 0, old = 0;
    for (const RollPlace& place : workers_.roll_places()) {
      fresh += place.fresh;
      ready += place.fresh && place.state == RollPlace::State::ready;
      old += !place.fresh && place.state != RollPlace::State::given_up;
    }
    return is_scale_ ? fmt::format("scaling: {} of {} more workers are ready", ready, fresh)
                     : fmt::format("restarting: {} of {} new workers are ready, {} old ones fetch", ready, fresh, old);
  }
  if (!last_ || last_->outcome == Outcome::done || last_->outcome == Outcome::not_now) return "";
  return fmt::format("the last {} was {}: {}", last_->is_scale ? "scale" : "restart",
                     last_->outcome == Outcome::refused ? "refused" : "rolled back", last_->reason);
}

std::string RollingRestart::json() const {
  JsonWriter ended;
  for (const Outcome outcome : {Outcome::done, Outcome::refused, Outcome::rolled_back, Outcome::not_now}) {
    const auto found = ended_.find(outcome);
    ended.number(name_of(outcome), found == ended_.end() ? 0 : found->second);
  }
  return JsonWriter()
      .truth("under_way", under_way())
      .text_or_null("step", under_way() ? status() : "")
      .json("last", last_ ? json_of(*last_).object() : "null")
      .json("last_restart", last_restart_ ? json_of(*last_restart_).object() : "null")
      .json("ended", ended.object())
      .object();
}

}  // namespace brood
