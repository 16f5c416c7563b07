#include "tests/support/sentinel_setup.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "shared/base/check.hpp"
#include "tests/support/eventually.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

RedisAddress address_at(const std::string& host, std::uint16_t port, const std::string& password) {
  RedisAddress address;
  address.host = host;
  address.port = port;
  address.password = password;
  return address;
}

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
    : host_(options.host),
      port_(free_port()),
      owner_(getpid()),
      connection_(address_at(host_, port_, options.password), {std::chrono::seconds(2), std::chrono::seconds(2)},
                  "test") {
  const std::string& name = options.master;
  std::string text = "port " + std::to_string(port_) + "\nbind " + host_ + "\nsentinel announce-ip " + host_ +
                     "\nprotected-mode no\ndir " + directory_.path() + "\nlogfile " + (directory_ / "log") +
                     "\nsentinel monitor " + name + " " + options.master_host + " " +
                     std::to_string(options.master_port) + " " + std::to_string(options.quorum) +
                     "\nsentinel down-after-milliseconds " + name + " 500\nsentinel failover-timeout " + name +
                     " 3000\nsentinel parallel-syncs " + name + " 2\n";
  if (!options.master_password.empty()) text += "sentinel auth-pass " + name + " " + options.master_password + "\n";
  if (!options.password.empty())
    text += "requirepass " + options.password + "\nsentinel sentinel-pass " + options.password + "\n";
  directory_.write("sentinel.conf", text);
  start();
}

Sentinel::~Sentinel() {
  if (getpid() == owner_) kill9();
}

void Sentinel::start() {
  const std::string file = directory_ / "sentinel.conf";
  const pid_t parent = getpid();
  pid_ = check("fork", fork());
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    setpgid(0, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const int null = open("/dev/null", O_RDWR);
    for (int fd : {0, 1, 2}) dup2(null, fd);
    close_range(3, ~0U, 0);
    execlp("redis-server", "redis-server", file.c_str(), "--sentinel", nullptr);
    _exit(127);
  }
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

void Sentinel::kill9() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void Sentinel::pause() {
  check("kill", kill(pid_, SIGSTOP));
  siginfo_t info{};
  check("waitid", waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED));
}

void Sentinel::resume() { check("kill", kill(pid_, SIGCONT)); }

Reply Sentinel::command(const Command& command) { return connection_.call(command); }

SentinelSetup::SentinelSetup(Options options) : options_(std::move(options)) {
  const RedisServer::Options server{.append_only = true,
                                    .extra = arguments_of_servers(options_),
                                    .tcp = true,
                                    .password = options_.password,
                                    .host = options_.host};
  RedisServer::Options first = server;
  if (!options_.first_host.empty()) first.host = options_.first_host;
  first.prefix = options_.first_prefix;
  first.extra.insert(first.extra.end(), {"--replica-announce-ip", first.host});
  for (auto& one : servers_) one = std::make_unique<RedisServer>(&one == &servers_[0] ? first : server);
  const std::string port = std::to_string(servers_[0]->address().port);
  for (std::size_t i = 1; i < servers_.size(); ++i) servers_[i]->command({"REPLICAOF", first.host, port});
  if (!eventually([&] { return is_in_step(*servers_[0]); }, 30s))
    throw std::runtime_error("the replicas do not follow");
  for (auto& one : sentinels_)
    one = std::make_unique<Sentinel>(Sentinel::Options{.host = options_.host,
                                                       .master_host = first.host,
                                                       .master_port = servers_[0]->address().port,
                                                       .master_password = options_.password,
                                                       .password = options_.sentinel_password});
  const auto knows_all = [&](const auto& sentinel) {
    const Reply reply = sentinel->command({"SENTINEL", "MASTER", "mymaster"});
    return has_field(reply.view(), "num-slaves", "2") && has_field(reply.view(), "num-other-sentinels", "2");
  };
  for (auto& one : sentinels_) {
    if (!eventually([&] { return knows_all(one); }, 30s))
      throw std::runtime_error("the sentinels do not find each other");
  }
}

std::string SentinelSetup::url(const std::string& query) const {
  std::string text = options_.password.empty() ? "sentinel://" : "sentinel://:" + options_.password + "@";
  for (const auto& sentinel : sentinels_)
    text +=
        (text.back() == '/' || text.back() == '@' ? "" : ",") + options_.host + ":" + std::to_string(sentinel->port());
  return text + "/mymaster" + query;
}

bool SentinelSetup::is_master(RedisServer& server) {
  Connection connection(server.address(), {std::chrono::milliseconds(500), std::chrono::milliseconds(500), true});
  try {
    return connection.call({"ROLE"}).view()[0].text() == "master";
  } catch (const std::runtime_error&) {
    return false;
  }
}

RedisServer& SentinelSetup::master(const RedisServer* but) {
  RedisServer* found = nullptr;
  eventually(
      [&] {
        for (const auto& one : servers_) {
          if (one.get() != but && is_master(*one)) found = one.get();
        }
        return found != nullptr;
      },
      30s);
  if (found == nullptr) throw std::runtime_error("there is no master");
  return *found;
}

bool SentinelSetup::is_in_step(RedisServer& master) {
  Connection connection(master.address(), {std::chrono::milliseconds(2000), std::chrono::milliseconds(2000), true});
  const Reply info = connection.call({"INFO", "replication"});
  std::size_t online = 0;
  for (std::size_t at = 0; (at = info.view().text().find("state=online", at)) != std::string_view::npos; ++at) ++online;
  return online == 2;
}

}  // namespace brood
