#include "tests/support/redis_server.hpp"
#include "tests/support/file_text.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_program.hpp"

namespace brood {

namespace {

std::vector<std::string> texts(const Reply& reply) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < reply.view().size(); ++i) found.emplace_back(reply.view()[i].text());
  return found;
}

std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

// Writes the users of etc/redis-users.acl, with the additional commands that tests send on the connection of the code
// under test, and that brood itself never sends.
void write_users(const std::string& file, bool for_tests_of_the_store) {
  std::string users = text_of_file(BROOD_SOURCE_DIR "/etc/redis-users.acl");
  for (std::size_t at = 0; (at = users.find(">PASSWORD", at)) != std::string::npos;) users.replace(at, 9, ">secret");
  if (for_tests_of_the_store)
    users.insert(users.find('\n'), " ~x ~nothing ~*:1:a +config +flushall +echo +ttl +pttl +keys +debug +script +acl");
  std::ofstream(file) << "user default on nopass ~* &* +@all\n" << users;
}

}  // namespace

// A port below 32768.  From 32768 on Linux gives them to connections, and to programs that leave the choice to it: a
// server that was killed would not always get its port again.
std::uint16_t free_port() {
  std::random_device random;
  std::uniform_int_distribution<int> ports(10'000, 32'000);
  for (;;) {
    const auto port = static_cast<std::uint16_t>(ports(random));
    const UniqueFd probe(check("socket", socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (bind(probe.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return port;
    if (errno != EADDRINUSE) check("bind", -1);
  }
}

RedisServer::RedisServer(Options options) : options_(std::move(options)), connection_(RedisAddress{}) {
  const char* const user = getenv("BROOD_TEST_USER");
  if (user != nullptr && options_.password.empty()) {
    user_ = user;
    options_.users = true;
  }
  RedisAddress local;
  local.socket_path = socket_path();
  local.password = options_.password;
  connection_ = Connection(local, {std::chrono::seconds(20), std::chrono::seconds(20)}, "test");
  start();
}

std::string RedisServer::socket_path() const { return directory_ / "redis.sock"; }

RedisAddress RedisServer::address() const {
  RedisAddress address = RedisAddress::parse(user_.empty() ? url() : url_of(user_));
  if (options_.tls) address.tls->ca = {options_.tls->ca, "ca"};
  return address;
}

std::string RedisServer::url() const { return url_by(options_.password.empty() ? "" : ":" + options_.password + "@"); }

std::string RedisServer::url_of(const std::string& user) const { return url_by(user + ":secret@"); }

std::string RedisServer::user() const { return user_.empty() ? "default" : user_; }

std::string RedisServer::url_by(const std::string& who) const {
  if (options_.tls) return "rediss://" + who + options_.host + ":" + std::to_string(port_);
  return options_.tcp ? "redis://" + who + options_.host + ":" + std::to_string(port_)
                      : "unix://" + who + socket_path();
}

void RedisServer::start() {
  // Another process may take the port between the look for a free one and the server's bind.
  for (int attempt = 0; attempt < 10; ++attempt) {
    if ((options_.tcp || options_.tls) && port_ == 0) port_ = free_port();
    if (launch()) return;
    kill9();
    if (attempt > 2) port_ = 0;
  }
  throw std::runtime_error(redis_program() + " does not start: " + text_of_file(directory_ / "redis.log"));
}

// Returns true once the server answers, false if it exits instead.
bool RedisServer::launch() {
  std::vector<std::string> args = {redis_program(),
                                   options_.tls ? "--tls-port" : "--port",
                                   std::to_string(port_),
                                   "--bind",
                                   options_.host,
                                   "--unixsocket",
                                   socket_path(),
                                   "--dir",
                                   directory_.path(),
                                   "--logfile",
                                   directory_ / "redis.log",
                                   "--save",
                                   "",
                                   "--daemonize",
                                   "no",
                                   "--appendonly",
                                   options_.append_only ? "yes" : "no",
                                   "--appendfsync",
                                   "always"};
  if (options_.users) {
    const std::string users = directory_ / "users.acl";
    write_users(users, !user_.empty());
    args.insert(args.end(), {"--aclfile", users});
  }
  if (!options_.password.empty()) args.insert(args.end(), {"--requirepass", options_.password});
  if (options_.tls) {
    const TlsFiles& tls = *options_.tls;
    args.insert(args.end(),
                {"--port", "0", "--tls-cert-file", tls.cert, "--tls-key-file", tls.key, "--tls-ca-cert-file", tls.ca,
                 "--tls-auth-clients", tls.requires_clients ? "yes" : "no", "--tls-replication", "yes"});
    if (!tls.protocols.empty()) args.insert(args.end(), {"--tls-protocols", tls.protocols});
  }
  args.insert(args.end(), options_.extra.begin(), options_.extra.end());
  args.insert(args.begin(), options_.prefix.begin(), options_.prefix.end());
  process_.start(std::move(args));
  bool answers = false;
  eventually(
      [&] {
        if (process_.exited()) return true;
        try {
          answers = connection_.call({"PING"}).view().is_string();
        } catch (const ConnectionLost&) {
        }
        return answers;
      },
      std::chrono::seconds(30));
  return answers && !process_.exited();
}

void RedisServer::restart() {
  kill9();
  start();
}

void RedisServer::show(const TlsFiles& files) {
  options_.tls = files;
  const Reply reply =
      command({"CONFIG", "SET", "tls-cert-file", files.cert, "tls-key-file", files.key, "tls-ca-cert-file", files.ca,
               "tls-auth-clients", files.requires_clients ? "yes" : "no"});
  reply.view().text();
}

Reply RedisServer::command(const Command& command) { return connection_.call(command); }

std::int64_t RedisServer::integer(const Command& command) { return connection_.call(command).view().integer(); }

long RedisServer::figure(const std::string& section, const std::string& name) {
  const Reply info = command({"INFO", section});
  const std::string text = "\n" + std::string(info.view().text()), start = "\n" + name + ":";
  return std::stol(text.substr(text.find(start) + start.size()));
}

std::size_t RedisServer::size_of(const std::string& key) {
  const Reply reply = command({"TYPE", key});
  const std::string_view type = reply.view().text();
  if (type == "none") return 0;
  const char* counting = type == "list" ? "LLEN" : type == "zset" ? "ZCARD" : type == "hash" ? "HLEN" : "SCARD";
  return static_cast<std::size_t>(integer({counting, key}));
}

std::optional<std::string> RedisServer::get(const std::string& key) {
  const Reply reply = command({"GET", key});
  if (reply.view().is_nil()) return std::nullopt;
  return std::string(reply.view().text());
}

std::optional<std::string> RedisServer::hget(const std::string& key, const std::string& field) {
  const Reply reply = command({"HGET", key, field});
  if (reply.view().is_nil()) return std::nullopt;
  return std::string(reply.view().text());
}

std::map<std::string, std::string> RedisServer::hgetall(const std::string& key) {
  const std::vector<std::string> flat = texts(command({"HGETALL", key}));
  std::map<std::string, std::string> fields;
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) fields[flat[i]] = flat[i + 1];
  return fields;
}

std::vector<std::string> RedisServer::lrange(const std::string& key) {
  return texts(command({"LRANGE", key, "0", "-1"}));
}

std::vector<std::string> RedisServer::smembers(const std::string& key) {
  return sorted(texts(command({"SMEMBERS", key})));
}

std::vector<std::string> RedisServer::keys(const std::string& pattern) {
  return sorted(texts(command({"KEYS", pattern})));
}

std::vector<std::pair<std::string, double>> RedisServer::zrange(const std::string& key) {
  const std::vector<std::string> flat = texts(command({"ZRANGE", key, "0", "-1", "WITHSCORES"}));
  std::vector<std::pair<std::string, double>> members;
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) members.emplace_back(flat[i], std::stod(flat[i + 1]));
  return members;
}

void RedisServer::flush() {
  const Reply reply = command({"FLUSHALL"});
  reply.view().text();
}

}  // namespace brood
