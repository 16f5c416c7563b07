#include "supervisor/cli/run/check_redis.hpp"

#include <sysexits.h>

#include <chrono>
#include <iostream>

#include "shared/base/log_line.hpp"
#include "shared/config/redis_location.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/rights.hpp"
#include "supervisor/queues/queue_rivals.hpp"

namespace brood {
namespace {

constexpr std::chrono::seconds patience(2);

// Adds what the settings of a cluster's node say to its fitness.
void add_cluster(Connection& connection, RedisFitness& fitness) {
  const std::vector<Reply> replies = connection.pipeline(ask_cluster_settings());
  std::vector<ReplyView> answers;
  for (const Reply& reply : replies) answers.push_back(reply.view());
  const RedisFitness settings = judge_cluster(answers);
  fitness.refusal = settings.refusal;
  const auto warn = [&](const std::string& more) { fitness.warning += (fitness.warning.empty() ? "" : "; ") + more; };
  if (!settings.warning.empty()) warn(settings.warning);
  if (answers.front().is_error())
    warn("CONFIG GET is not allowed (" + std::string(answers.front().error()) +
         "): whether the cluster is set to lose what it has confirmed is not known; see appendonly, save, "
         "cluster-replica-validity-factor and cluster-require-full-coverage");
}

// Processes of Ruby that fetch from our queues too.
void show_rivals(const Config& config, Connection& connection) {
  const auto ask = [&](const std::vector<Command>& commands) { return connection.pipeline(commands); };
  for (const QueueRivalry& rivalry : queue_rivalries(config.capsules, ruby_processes(ask)))
    std::cout << "\nwarning: " << describe(rivalry);
}

}  // namespace

int RedisCheck::check(const RedisAddress& shard) {
  const std::string which = shard.shard.empty() ? "" : " " + shard.shard;
  std::cout << "redis" << which << ": " << (uses_embedded_redis(config_.redis) ? "embedded, " : "")
            << log::printable(shard.without_password());
  std::string why_refused;
  try {
    const std::string unfit = ask(shard);
    if (!unfit.empty()) {
      std::cout << "\n" << std::flush;
      std::cerr << "brood: " << log::printable(unfit) << std::endl;
      return EX_CONFIG;
    }
  } catch (const LoginRefused& refused) {
    why_refused = refused.what();
  } catch (const HungUp& hung_up) {
    why_refused = hung_up.what();
  } catch (const HostUnknown& unknown) {
    why_refused = unknown.what();
  } catch (const ConnectionLost& lost) {
    if (!uses_embedded_redis(config_.redis))
      std::cout << "; warning: it does not answer now: " << log::printable(lost.what());
  } catch (const UnexpectedReply& refused) {
    std::cout << "; warning: " << log::printable(refused.what());
  }
  std::cout << std::endl;
  if (why_refused.empty()) return EX_OK;
  std::cerr << "brood: Redis" << which << " cannot be used: " << log::printable(why_refused) << std::endl;
  return EX_TEMPFAIL;
}

// Returns why this Redis can never be used, or nothing.
std::string RedisCheck::ask(const RedisAddress& shard) {
  Connection connection(shard, {patience, patience}, "brood-check");
  const Topology topology = shard.in_cluster ? Topology::cluster : Topology::single;
  const std::vector<Reply> replies = connection.pipeline({{"INFO"}, probe_of_rights()});
  const ReplyView info = replies[0].view(), rights = replies[1].view();
  if (classify_error(rights.error()) == ErrorKind::unauthorized) throw LoginRefused(std::string(rights.error()));
  RedisFitness fitness = info.is_string() ? judge_redis(info.text(), topology) : RedisFitness{};
  if (shard.in_cluster && fitness.refusal.empty()) add_cluster(connection, fitness);
  const RedisData data{shard.shard, fitness.run_id, shard.db, shard.key_prefix};
  if (fitness.refusal.empty()) fitness.refusal = why_not_beside(data, seen_);
  seen_.push_back(data);
  if (!fitness.version.empty()) std::cout << ", version " << log::printable(fitness.version);
  if (!info.is_string()) std::cout << "; warning: " << log::printable(info.error());
  if (!fitness.warning.empty()) std::cout << "; warning: " << fitness.warning;
  if (!fitness.refusal.empty()) return fitness.refusal;
  if (!fitness.not_now.empty()) std::cout << "; warning: " << fitness.not_now << ", and it is waited for";
  show_rivals(config_, connection);
  return "";
}

std::string why_no_tls(const std::vector<RedisAddress>& shards) {
  for (const RedisAddress& shard : shards) {
    if (!shard.tls) continue;
    try {
      Connection(shard, {patience, patience, true}, "brood-check").call({"PING"});
    } catch (const LoginRefused& refused) {
      return refused.what();
    } catch (const ConnectionLost&) {
    }
  }
  return "";
}

}  // namespace brood
