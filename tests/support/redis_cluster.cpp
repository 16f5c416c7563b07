#include "tests/support/redis_cluster.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "tests/support/eventually.hpp"
#include "tests/support/replication.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t all_slots = 16'384;

void must(RedisServer& node, const Command& command) {
  const Reply reply = node.command(command);
  if (reply.view().is_error())
    throw std::runtime_error("CLUSTER " + command.args.at(1) + ": " + std::string(reply.view().error()));
}

bool says_ok(RedisServer& node) {
  const Reply info = node.command({"CLUSTER", "INFO"});
  return info.view().text().find("cluster_state:ok") != std::string_view::npos;
}

std::size_t nodes_known_to(RedisServer& node) {
  const Reply nodes = node.command({"CLUSTER", "NODES"});
  const std::string_view text = nodes.view().text();
  return text.find("handshake") != text.npos ? 0 : static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

std::string cluster_id(RedisServer& node) { return std::string(node.command({"CLUSTER", "MYID"}).view().text()); }

RedisCluster::RedisCluster(Options wish) : options_(std::move(wish)) {
  const Options& options = options_;
  const std::size_t size = options.masters * (1 + options.replicas_of_each);
  for (std::size_t i = 0; i < size; ++i) {
    std::vector<std::string> extra{"--cluster-enabled", "yes", "--cluster-port", std::to_string(free_port()),
                                   "--cluster-node-timeout", std::to_string(options.node_timeout.count()),
                                   // A replica without news from its master for long counts as out of date, and may not
                                   // take over.
                                   "--repl-ping-replica-period", "1", "--repl-diskless-sync-delay", "0"};
    extra.insert(extra.end(), options.extra.begin(), options.extra.end());
    if (options.tls) extra.insert(extra.end(), {"--tls-cluster", "yes"});
    const bool apart = i == 0 && !options.first_host.empty();
    const std::string& host = apart ? options.first_host : options.host;
    // Without this, other nodes would take it for the host that its packets come from.
    extra.insert(extra.end(), {"--cluster-announce-ip", host, "--protected-mode", "no"});
    nodes_.push_back(std::make_unique<RedisServer>(
        RedisServer::Options{.append_only = options.append_only,
                             .extra = extra,
                             .tcp = !options.tls,
                             .tls = options.tls,
                             .host = host,
                             .prefix = apart ? options.first_prefix : std::vector<std::string>()}));
    ids_.push_back(cluster_id(node(i)));
    must(node(i), {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    const std::string bus = extra[3];
    // All other nodes meet the first.
    if (i == 0) {
      first_bus_ = bus;
    } else {
      must(node(i), {"CLUSTER", "MEET", host_of(node(0)), std::to_string(node(0).port()), first_bus_});
    }
  }
  for (std::size_t master = 0; master < options.masters; ++master) {
    Command serve{"CLUSTER", "ADDSLOTS"};
    for (std::size_t slot = all_slots * master / options.masters; slot < all_slots * (master + 1) / options.masters;
         ++slot)
      serve.add(std::to_string(slot));
    must(node(master), serve);
  }
  const auto all = [&](auto holds) {
    return eventually([&] { return std::all_of(nodes_.begin(), nodes_.end(), [&](auto& one) { return holds(*one); }); },
                      60s);
  };
  if (!all([&](RedisServer& one) { return nodes_known_to(one) == size; }))
    throw std::runtime_error("the nodes of the cluster do not find each other");
  for (std::size_t i = options.masters; i < size; ++i) {
    const std::string master = cluster_id(node((i - options.masters) / options.replicas_of_each));
    must(node(i), {"CLUSTER", "REPLICATE", master});
  }
  const auto has_its_part = [](RedisServer& one) {
    const Replication now = Replication::of(one);
    return now.is_master || now.has_data_of_master;
  };
  if (!all([&](RedisServer& one) { return says_ok(one) && has_its_part(one); }) ||
      !eventually([&] { return works(); }, 60s))
    throw std::runtime_error("the cluster does not begin to work");
}

const std::string& RedisCluster::host_of(const RedisServer& node) const {
  return &node == nodes_.front().get() && !options_.first_host.empty() ? options_.first_host : options_.host;
}

RedisAddress RedisCluster::address(int shard) const {
  RedisAddress address = RedisAddress::parse(url());
  if (options_.tls) address.tls.emplace().ca = {options_.tls->ca, "ca"};
  return in_shard(std::move(address), shard);
}

std::string RedisCluster::url() const {
  std::string url = "cluster://";
  for (const auto& node : nodes_)
    url += (node == nodes_.front() ? "" : ",") + host_of(*node) + ":" + std::to_string(node->port());
  return url;
}

RedisServer& RedisCluster::owner(int slot) {
  std::map<std::string, std::size_t> votes;  // by the id of the owner
  for (const auto& node : nodes_) {
    if (!node->runs()) continue;
    const Reply slots = node->command({"CLUSTER", "SLOTS"});
    for (std::size_t i = 0; i < slots.view().size(); ++i) {
      const ReplyView range = slots.view()[i];
      if (range[0].integer() <= slot && slot <= range[1].integer()) ++votes[std::string(range[2][2].text())];
    }
  }
  const auto most = std::max_element(votes.begin(), votes.end(), [](auto& a, auto& b) { return a.second < b.second; });
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (most != votes.end() && ids_[i] == most->first) return node(i);
  }
  throw std::runtime_error("nobody owns the slot");
}

RedisServer& RedisCluster::replica_of(RedisServer& master) {
  for (const auto& node : nodes_) {
    if (node->runs() && Replication::of(*node).master_port == master.port()) return *node;
  }
  throw std::runtime_error("the node has no replica");
}

// The master ignores a replica that it has just got to know, and the replica then waits for 5 s.
void RedisCluster::fail_over(int slot, RedisServer& replica) {
  for (int i = 0; i < 30; ++i) {
    replica.command({"CLUSTER", "FAILOVER"});  // refused if it has taken over and the others do not know yet
    if (within(1s, [&] { return &owner(slot) == &replica; })) return;
  }
  throw std::runtime_error("the replica does not take over");
}

void RedisCluster::begin_move(int slot, RedisServer& from, RedisServer& to) {
  must(to, {"CLUSTER", "SETSLOT", std::to_string(slot), "IMPORTING", cluster_id(from)});
  must(from, {"CLUSTER", "SETSLOT", std::to_string(slot), "MIGRATING", cluster_id(to)});
}

void RedisCluster::move_keys(int slot, RedisServer& from, RedisServer& to) {
  for (;;) {
    const Reply keys = from.command({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "3"});
    if (keys.view().size() == 0) return;
    Command migrate{"MIGRATE", host_of(to), std::to_string(to.port()), "", "0", "5000", "KEYS"};
    for (std::size_t i = 0; i < keys.view().size(); ++i) migrate.add(keys.view()[i].text());
    must(from, migrate);
  }
}

void RedisCluster::end_move(int slot, RedisServer& from, RedisServer& to) {
  const std::string id = cluster_id(to);
  must(to, {"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", id});
  must(from, {"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", id});
}

void RedisCluster::move_slot(int slot, RedisServer& to) {
  RedisServer& from = owner(slot);
  if (&from == &to) return;
  begin_move(slot, from, to);
  move_keys(slot, from, to);
  end_move(slot, from, to);
}

bool RedisCluster::works() {
  return std::all_of(nodes_.begin(), nodes_.end(), [](auto& node) { return !node->runs() || says_ok(*node); });
}

std::vector<std::string> RedisCluster::keys(const std::string& pattern) {
  std::vector<std::string> all;
  for (const auto& node : nodes_) {
    if (!node->runs()) continue;
    if (!Replication::of(*node).is_master) continue;
    const std::vector<std::string> some = node->keys(pattern);
    all.insert(all.end(), some.begin(), some.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace brood
