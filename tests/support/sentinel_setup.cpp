#include "tests/support/sentinel_setup.hpp"

#include <stdexcept>

#include "tests/support/eventually.hpp"
#include "tests/support/redis_program.hpp"
#include "tests/support/replication.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

// A sentinel reconnects at most once a second.  With a shorter time it would consider every master dead that was just
// elected, or that it meets after its own start, and elect again.
constexpr std::chrono::milliseconds down_after = 2000ms;

RedisAddress address_at(std::uint16_t port, const Sentinel::Options& options) {
  RedisAddress address;
  address.host = options.host;
  address.port = port;
  address.password = options.password;
  if (options.tls) address.tls.emplace().ca = {options.tls->ca, "ca"};
  return address;
}

std::string name_of_group(std::size_t group) { return group == 0 ? "mymaster" : "mymaster" + std::to_string(group); }

std::vector<std::string> arguments_of_servers(const SentinelSetup::Options& options) {
  std::vector<std::string> arguments{"--repl-diskless-sync-delay", "0",  "--repl-timeout",        "5",
                                     "--protected-mode",           "no", "--replica-announce-ip", options.host};
  if (!options.password.empty()) arguments.insert(arguments.end(), {"--masterauth", options.password});
  arguments.insert(arguments.end(), options.extra.begin(), options.extra.end());
  return arguments;
}

bool has_field(ReplyView fields, const std::string& name, const std::string& value) {
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    if (fields[i].text() == name) return fields[i + 1].text() == value;
  }
  return false;
}

}  // namespace

Sentinel::Sentinel(Options options)
    : port_(free_port()),
      connection_(address_at(port_, options), {std::chrono::seconds(20), std::chrono::seconds(20)}, "test") {
  const std::string port = std::to_string(port_);
  std::string text = "bind " + options.host + "\nsentinel announce-ip " + options.host + "\nprotected-mode no\ndir " +
                     directory_.path() + "\nlogfile " + (directory_ / "log") + "\n";
  if (options.tls) {
    text += "port 0\ntls-port " + port + "\ntls-replication yes\ntls-auth-clients no\ntls-cert-file " +
            options.tls->cert + "\ntls-key-file " + options.tls->key + "\ntls-ca-cert-file " + options.tls->ca + "\n";
  } else {
    text += "port " + port + "\n";
  }
  for (const Master& master : options.masters) {
    text += "sentinel monitor " + master.name + " " + master.host + " " + std::to_string(master.port) + " " +
            std::to_string(options.quorum) + "\nsentinel down-after-milliseconds " + master.name + " " +
            std::to_string(down_after.count()) + "\nsentinel failover-timeout " + master.name +
            " 3000\nsentinel parallel-syncs " + master.name + " 2\n";
    if (!options.master_password.empty())
      text += "sentinel auth-pass " + master.name + " " + options.master_password + "\n";
  }
  if (!options.password.empty())
    text += "requirepass " + options.password + "\nsentinel sentinel-pass " + options.password + "\n";
  directory_.write("sentinel.conf", text);
  start();
}

void Sentinel::start() {
  process_.start({redis_program(), directory_ / "sentinel.conf", "--sentinel"});
  const bool answers = eventually(
      [&] {
        try {
          return connection_.call({"PING"}).view().is_string();
        } catch (const ConnectionLost&) {
          return false;
        }
      },
      20s);
  if (!answers) throw std::runtime_error("the sentinel does not start");
}

Reply Sentinel::command(const Command& command) { return connection_.call(command); }

SentinelSetup::SentinelSetup(Options options) : options_(std::move(options)) {
  const RedisServer::Options server{.append_only = true,
                                    .extra = arguments_of_servers(options_),
                                    .tcp = !options_.tls,
                                    .password = options_.password,
                                    .tls = options_.tls,
                                    .host = options_.host};
  RedisServer::Options first = server;
  if (!options_.first_host.empty()) first.host = options_.first_host;
  first.prefix = options_.first_prefix;
  first.extra.insert(first.extra.end(), {"--replica-announce-ip", first.host});
  std::vector<Sentinel::Master> masters;
  for (std::size_t group = 0; group < options_.groups; ++group) {
    for (std::size_t i = 0; i < of_each(); ++i) {
      servers_.push_back(std::make_unique<RedisServer>(servers_.empty() ? first : server));
      if (i == 0)
        masters.push_back({name_of_group(group), group == 0 ? first.host : options_.host, servers_.back()->port()});
      else
        servers_.back()->command({"REPLICAOF", masters.back().host, std::to_string(masters.back().port)});
    }
  }
  for (std::size_t group = 0; group < options_.groups; ++group) {
    if (!eventually([&] { return is_in_step(this->server(0, group)); }, 30s))
      throw std::runtime_error("the replicas do not follow");
  }
  for (auto& one : sentinels_)
    one = std::make_unique<Sentinel>(Sentinel::Options{.masters = masters,
                                                       .host = options_.host,
                                                       .master_password = options_.password,
                                                       .password = options_.sentinel_password,
                                                       .tls = options_.tls});
  const auto knows_all = [&](const auto& sentinel, const std::string& name) {
    const Reply reply = sentinel->command({"SENTINEL", "MASTER", name});
    return has_field(reply.view(), "num-slaves", std::to_string(options_.replicas)) &&
           has_field(reply.view(), "num-other-sentinels", "2");
  };
  for (auto& one : sentinels_) {
    for (const Sentinel::Master& master : masters) {
      if (!eventually([&] { return knows_all(one, master.name); }, 30s))
        throw std::runtime_error("the sentinels do not find each other");
    }
  }
}

std::string SentinelSetup::url(const std::string& query, std::size_t group) const {
  std::string text = options_.password.empty() ? "sentinel://" : "sentinel://:" + options_.password + "@";
  for (const auto& sentinel : sentinels_)
    text +=
        (text.back() == '/' || text.back() == '@' ? "" : ",") + options_.host + ":" + std::to_string(sentinel->port());
  return text + "/" + name_of_group(group) + query;
}

RedisAddress SentinelSetup::address(std::size_t group) const {
  RedisAddress address = RedisAddress::parse(url("", group));
  address.sentinel_password = options_.sentinel_password;
  if (options_.tls) address.tls.emplace().ca = {options_.tls->ca, "ca"};
  return address;
}

RedisServer& SentinelSetup::master(const RedisServer* but, std::size_t group) {
  RedisServer* found = nullptr;
  eventually(
      [&] {
        for (std::size_t i = 0; i < of_each(); ++i) {
          RedisServer& one = server(i, group);
          if (&one != but && is_master(one)) found = &one;
        }
        return found != nullptr;
      },
      30s);
  if (found == nullptr) throw std::runtime_error("there is no master");
  return *found;
}

bool SentinelSetup::is_master(RedisServer& server) {
  Connection connection(server.address(), {std::chrono::milliseconds(500), std::chrono::milliseconds(500), true});
  try {
    return connection.call({"ROLE"}).view()[0].text() == "master";
  } catch (const std::runtime_error&) {
    return false;
  }
}

bool SentinelSetup::is_in_step(RedisServer& master) {
  Connection connection(master.address(), {std::chrono::milliseconds(2000), std::chrono::milliseconds(2000), true});
  try {
    const Reply info = connection.call({"INFO", "replication"});
    return Replication::read(info.view().text()).replicas_in_step == options_.replicas;
  } catch (const ConnectionLost&) {  // one that becomes a replica closes its connections
    return false;
  }
}

}  // namespace brood
