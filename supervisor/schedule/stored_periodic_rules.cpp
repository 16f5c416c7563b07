#include "supervisor/schedule/stored_periodic_rules.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/periodic/periodic_rule.hpp"

namespace brood {

using namespace std::chrono_literals;
using Result = AsyncConnection::Result;

namespace {

constexpr auto between_looks = 5s, between_looks_when_told = 120s;

}  // namespace

StoredPeriodicRules::StoredPeriodicRules(EventLoop& loop, AsyncConnection& redis, std::function<void(bool)> read)
    : redis_(redis), tell_(std::move(read)), next_(loop, [this] { ask(); }) {}

void StoredPeriodicRules::look() {
  looking_ = true;
  look_again_ = asking_;  // the answer under way may be older than this change
  ask();
}

void StoredPeriodicRules::rely_on_reports(bool told) {
  is_told_ = told;
  if (!told && looking_) look();
}

void StoredPeriodicRules::stop() {
  looking_ = asking_ = false;
  moving_.clear();
  redis_.cancel();
  next_.stop();
}

void StoredPeriodicRules::look_later() { next_.start_in(is_told_ ? between_looks_when_told : between_looks); }

void StoredPeriodicRules::ask() {
  if (!looking_ || asking_) return;
  if (!redis_.connected()) return look_later();
  asking_ = true;
  redis_.run_all({ask_periodic_rules()}, longest_answer_time, [this](const std::vector<Result>& results) {
    const Result& result = results.front();
    asking_ = false;
    look_later();
    try {
      if (result.ok())
        read(result.reply.view());
      else if (result.error.empty() && said_.emplace("", result.why()).second)
        log::warn("periodic_rules_unread", {{"reason", result.why()}, {"hint", "rules stay as known"}});
    } catch (const UnexpectedReply& error) {
      log::warn("periodic_rules_unread", {{"reason", error.what()}, {"hint", "rules stay as known"}});
    }
    if (std::exchange(look_again_, false)) ask();
  });
}

void StoredPeriodicRules::read(ReplyView reply) {
  const StoredRules stored = read_periodic_rules(reply);
  PeriodicJobSettings jobs;
  std::set<std::pair<std::string, std::string>> wrong;
  const auto refuse = [&](const std::string& name, const std::string& why) {
    if (!said_.contains({name, why})) log::warn("periodic_rule_refused", {{"name", name}, {"error", why}});
    wrong.emplace(name, why);
  };
  for (const auto& [name, rule] : stored.rules) {
    try {
      check_periodic_name(name);
      if (rule.empty()) throw BadPeriodicRule("it is empty or too long");
      PeriodicSettings job = read_periodic_rule(rule);
      job.source = PeriodicSettings::Source::redis;
      job.stored = rule;
      jobs.emplace(name, std::move(job));
    } catch (const BadPeriodicRule& error) {
      refuse(name, error.what());
    }
  }
  if (stored.count > static_cast<std::int64_t>(stored.rules.size()))
    refuse("", "Redis has more than " + std::to_string(most_periodic_rules) + " rules: the last by name are left out");
  said_ = std::move(wrong);
  const auto same = [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.stored == other.second.stored;
  };
  if (jobs.size() == jobs_.size() && std::equal(jobs.begin(), jobs.end(), jobs_.begin(), same)) return tell_(false);
  jobs_ = std::move(jobs);
  log::info("periodic_rules_read", {{"count", jobs_.size()}});
  tell_(true);
}

void StoredPeriodicRules::move_to(const std::function<StoredPeriodicRules*(const std::string& name)>& home) {
  if (!looking_ || !redis_.connected()) return;
  for (const auto& [name, job] : jobs_) {
    StoredPeriodicRules* const there = home(name);
    if (there != nullptr && there != this && there->redis_.connected() && moving_.insert(name).second)
      move(name, job.stored, *there);
  }
}

// Writes the rule there first, then removes it here.  In between both have it, and it is served once.
void StoredPeriodicRules::move(const std::string& name, const std::string& rule, StoredPeriodicRules& home) {
  const PeriodicSettings& job = jobs_.at(name);
  const AddedRule added{name, rule, periodic_rule_text(job), periodic_definition(job), "moved from a drained shard"};
  home.redis_.connection().run_all({put_periodic_rule(added)}, longest_answer_time,
                                   redis_.guard([this, name, rule](const std::vector<Result>& results) {
                                     using Outcome = PutRule::Outcome;
                                     moving_.erase(name);
                                     if (!results.front().ok()) return;  // a later look tries again
                                     const Outcome outcome = read_put_rule(results.front().reply.view()).outcome;
                                     if (outcome == Outcome::too_many || outcome == Outcome::is_elsewhere) return;
                                     redis_.run_all({remove_periodic_rule(name, rule)}, longest_answer_time,
                                                    [](const auto&) {});
                                     log::info("periodic_rule_moved", {{"name", name}});
                                   }));
}

}  // namespace brood
