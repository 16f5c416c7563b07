#include "supervisor/cli/run/check_redis.hpp"

#include <sysexits.h>

#include <chrono>
#include <iostream>

#include "shared/base/identity.hpp"
#include "shared/base/log_line.hpp"
#include "shared/config/redis_location.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/rights.hpp"
#include "supervisor/queues/queue_rivals.hpp"
#include "supervisor/redis/own_keys.hpp"

namespace brood {
namespace {

constexpr std::chrono::seconds patience(2);

std::vector<ReplyView> views_of(const std::vector<Reply>& replies) {
  std::vector<ReplyView> views;
  for (const Reply& reply : replies) views.push_back(reply.view());
  return views;
}

// Adds what the settings of a cluster node show to its fitness.
void add_cluster(Connection& connection, RedisFitness& fitness) {
  const std::vector<Reply> replies = connection.pipeline(ask_cluster_settings());
  const std::vector<ReplyView> answers = views_of(replies);
  const RedisFitness settings = judge_cluster(answers);
  fitness.refusal = settings.refusal;
  const auto warn = [&](const std::string& more) { fitness.warning += (fitness.warning.empty() ? "" : "; ") + more; };
  if (!settings.warning.empty()) warn(settings.warning);
  if (answers.front().is_error())
    warn("CONFIG GET is not allowed (" + std::string(answers.front().error()) +
         "): the cluster's settings are not checked, which may lose confirmed writes; see appendonly, save, "
         "cluster-replica-validity-factor and cluster-require-full-coverage");
}

// Ruby processes that fetch from our queues too, a sentence each.
std::vector<std::string> rivals_of(const Config& config, Connection& connection) {
  std::vector<std::string> rivals;
  const auto ask = [&](const std::vector<Command>& commands) { return connection.pipeline(commands); };
  for (const QueueRivalry& rivalry : queue_rivalries(config.capsules, ruby_processes(ask)))
    rivals.push_back(describe(rivalry));
  return rivals;
}

}  // namespace

int RedisCheck::check(const RedisAddress& shard) {
  const std::string which = shard.shard.empty() ? "" : " " + shard.shard;
  std::cout << "redis" << which << ": " << (uses_embedded_redis(config_.redis) ? "embedded, " : "")
            << log::printable(shard.without_password());
  std::string why_refused;
  rivals_.clear();
  try {
    const std::string unfit = ask(shard);
    if (!unfit.empty()) {
      std::cout << "\n" << std::flush;
      std::cerr << "brood: " << log::printable(unfit) << std::endl;
      return EX_CONFIG;
    }
  } catch (const ConnectionLost& lost) {
    if (lost.why == Loss::login_refused || lost.why == Loss::hung_up || lost.why == Loss::host_unknown)
      why_refused = lost.what();
    else if (!uses_embedded_redis(config_.redis))
      warnings_.append(std::string("it does not answer now: ") + lost.what());
  } catch (const UnexpectedReply& refused) {
    warnings_.append(refused.what());
  }
  std::cout << std::endl;
  for (const std::string& rival : rivals_) warnings_.print(rival);
  if (why_refused.empty()) return EX_OK;
  std::cerr << "brood: Redis" << which << " cannot be used: " << log::printable(why_refused) << std::endl;
  return EX_TEMPFAIL;
}

// Returns why this Redis can never be used; empty if it can.
std::string RedisCheck::ask(const RedisAddress& shard) {
  Connection connection(shard, {patience, patience}, "brood-check");
  const Topology topology = shard.in_cluster ? Topology::cluster : Topology::single;
  const Reply told = connection.call({"INFO"});
  const ReplyView info = told.view();
  RedisFitness fitness = info.is_string() ? judge_redis(info.text(), topology) : RedisFitness{};
  if (fitness.is_replica && !shard.must_be_found()) throw ConnectionLost(Loss::login_refused, fitness.not_now);
  if (fitness.refusal.empty() && fitness.not_now.empty()) {
    const std::vector<Reply> rights =
        connection.pipeline(ask_rights(own_keys(config_.capsules, Identity::of_this_process().name)));
    if (const std::string missing = missing_right(views_of(rights)); !missing.empty())
      throw ConnectionLost(Loss::login_refused, missing);
  }
  if (shard.in_cluster && fitness.refusal.empty()) add_cluster(connection, fitness);
  const RedisData data{shard.shard, fitness.run_id, shard.db, shard.key_prefix};
  if (fitness.refusal.empty()) fitness.refusal = why_not_beside(data, seen_);
  seen_.push_back(data);
  if (!fitness.server.empty()) std::cout << ", version " << log::printable(fitness.server);
  if (!info.is_string()) warnings_.append(std::string(info.error()));
  if (!fitness.warning.empty()) warnings_.append(fitness.warning);
  if (!fitness.refusal.empty()) return fitness.refusal;
  if (!fitness.not_now.empty()) warnings_.append(fitness.not_now + ", and it is waited for");
  rivals_ = rivals_of(config_, connection);
  return "";
}

std::string why_refused(const Config& config, const std::vector<RedisAddress>& shards) {
  const std::vector<Command> rights = ask_rights(own_keys(config.capsules, Identity::of_this_process().name));
  bool one_is_away = false;
  for (const RedisAddress& shard : shards) {
    if (shard.is_empty_place || (one_is_away && !shard.tls)) continue;
    try {
      const std::vector<Reply> answers = Connection(shard, {patience, patience, true}, "brood-check").pipeline(rights);
      if (std::string missing = missing_right(views_of(answers)); !missing.empty()) return missing;
    } catch (const ConnectionLost& lost) {
      if (lost.why == Loss::login_refused) return lost.what();
      one_is_away = true;
    } catch (const UnexpectedReply&) {  // it accepts us but answers oddly: the supervisor's own connection judges that
    }
  }
  return "";
}

}  // namespace brood
