// TLS to Redis: what the connections trust, how they refuse everything else, and that nothing else changes.
#include "tests/store/tls_servers.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <brood/client.hpp>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis/tls_certificates.hpp"
#include "tests/store/turned_loop.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/localhost.hpp"
#include "tests/support/redis_cluster.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/scripted_server.hpp"
#include "tests/support/sentinel_setup.hpp"
#include "tests/support/tcp_proxy.hpp"
#include "tests/support/test_authority.hpp"

using namespace brood;
using namespace brood::tls_tests;
using namespace std::chrono_literals;

namespace {

// How a blocking connection is refused; empty if it is not, or is only lost.
std::string refusal_of(const RedisAddress& address, std::chrono::milliseconds time = 20s) {
  try {
    Connection(address, {time, time}).call({"PING"});
  } catch (const ConnectionLost& lost) {
    if (lost.why == Loss::login_refused) return lost.what();
    BOOST_TEST_MESSAGE("lost: " << lost.what());
  }
  return "";
}

std::string async_refusal_of(const RedisAddress& address) {
  TurnedLoop loop;
  int losses = 0;
  AsyncConnection redis(loop.get(), "test", {.connected = {}, .disconnected = [&](const std::string&) { ++losses; }});
  redis.open(address);
  loop.until([&] { return losses > 0 || redis.connected(); });
  return redis.refusal();
}

std::string tls_error_of(const TlsSettings& settings) {
  try {
    TlsCertificates certificates(settings);
  } catch (const TlsError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_blocking_connection_speaks_tls_with_large_commands_and_replies) {
  RedisServer server(tls_server());
  Connection redis(trusting(server), patient, "brood-test");
  BOOST_TEST(redis.call({"PING"}).view().text() == "PONG");
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{16'384}, std::size_t{20'000'000}}) {
    const std::string value = of_size(bytes);
    BOOST_TEST(redis.call({"SET", "k", value}).view().text() == "OK");
    BOOST_TEST((redis.call({"GET", "k"}).view().text() == value), bytes);
  }
  const std::vector<Reply> replies = redis.pipeline(std::vector<Command>(20'000, {"PING"}));
  BOOST_TEST(replies.size() == 20'000u);
  BOOST_TEST(redis.connections() == 1u);
}

BOOST_AUTO_TEST_CASE(an_asynchronous_connection_speaks_tls_with_large_commands_and_replies) {
  RedisServer server(tls_server());
  TurnedLoop loop;
  AsyncConnection redis(loop.get(), "brood-test", {});
  redis.open(trusting(server));
  BOOST_REQUIRE(loop.until([&] { return redis.connected(); }));
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{20'000'000}}) {
    const std::string value = of_size(bytes);
    BOOST_TEST(answer_to(loop, redis, {"SET", "k", value})->ok());
    BOOST_TEST((answer_to(loop, redis, {"GET", "k"})->reply.view().text() == value), bytes);
  }
  std::vector<AsyncConnection::Result> results;
  redis.send_all(std::vector<Command>(20'000, {"PING"}), 20s, [&](auto all) { results = std::move(all); });
  BOOST_TEST(loop.until([&] { return results.size() == 20'000; }));
}

BOOST_AUTO_TEST_CASE(a_server_is_verified_by_name_by_number_or_by_the_name_that_is_set,
                     *boost::unit_test::precondition(localhost_is_known)) {
  RedisServer server(tls_server());
  RedisAddress by_name = trusting(server);
  by_name.host = "localhost";
  RedisServer elsewhere(tls_server(authority().issue({.names = "DNS:redis.example.org"})));
  RedisAddress as_set = trusting(elsewhere);
  as_set.tls->server_name = "redis.example.org";
  for (const RedisAddress& address : {trusting(server), by_name, as_set})
    BOOST_TEST(Connection(address, patient).call({"PING"}).view().text() == "PONG");
}

BOOST_AUTO_TEST_CASE(an_untrusted_server_is_refused_with_a_sentence) {
  const TestAuthority stranger("Somebody Else");
  struct Case {
    RedisServer::TlsFiles server;
    std::function<void(TlsSettings&)> change;
    std::vector<std::string> words;
  };
  RedisServer::TlsFiles wants_clients = authority().issue(), old_protocol = authority().issue();
  wants_clients.requires_clients = true;
  RedisServer::TlsFiles wants_clients_1_2 = wants_clients;
  wants_clients_1_2.protocols = old_protocol.protocols = "TLSv1.2";
  const RedisServer::TlsFiles client_of_stranger = stranger.issue(),
                              expired_client = authority().issue({.valid_from = -9, .valid_to = -2});
  const auto nothing = [](TlsSettings&) {};
  const auto shows = [](const RedisServer::TlsFiles& files) {
    return [files](TlsSettings& tls) {
      tls.cert = {files.cert, "cert"};
      tls.key = {files.key, "key"};
    };
  };
  const std::vector<Case> cases = {
      {authority().issue({.valid_from = -9, .valid_to = -2}), nothing, {"certificate has expired", "until"}},
      {authority().issue({.valid_from = 2, .valid_to = 9}), nothing, {"certificate is not yet valid", "clock"}},
      {stranger.issue(), nothing, {"certificate is of an unknown authority", "CN=Somebody Else", "ca"}},
      {authority().issue({.names = "DNS:other.example.org,IP:192.0.2.1"}),
       nothing,
       {"certificate is for other.example.org, 192.0.2.1, and not for 127.0.0.1", "server_name"}},
      {authority().issue(),
       [](TlsSettings& tls) { tls.server_name = "other.example.org"; },
       {"certificate is for localhost, 127.0.0.1, and not for other.example.org"}},
      {old_protocol, [](TlsSettings& tls) { tls.min_version = TlsSettings::Version::tls_1_3; }, {"min_version"}},
      {wants_clients, nothing, {"requires a client certificate", "cert and key"}},
      {wants_clients_1_2, nothing, {"perhaps it requires a client certificate"}},
      {wants_clients, shows(client_of_stranger), {"refuses our client certificate", "authority"}},
      {wants_clients, shows(expired_client), {"refuses our client certificate", "expired"}},
      {authority().issue(), [](TlsSettings& tls) { tls.ca = {}; }, {"certificate", "unknown authority"}},
  };
  for (const Case& c : cases) {
    RedisServer server(tls_server(c.server));
    RedisAddress address = trusting(server);
    c.change(*address.tls);
    for (const std::string& refusal : {refusal_of(address), async_refusal_of(address)}) {
      for (const std::string& word : c.words) BOOST_TEST(contains(refusal, word), refusal << " lacks " << word);
      BOOST_TEST(contains(refusal, "rediss://127.0.0.1"), refusal);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_certificate_that_is_refused_is_trusted_when_its_fingerprint_is_pinned) {
  const TestAuthority stranger("Somebody Else");
  for (const RedisServer::TlsFiles& files :
       {stranger.self_signed(), stranger.issue(), authority().issue({.valid_from = -9, .valid_to = -2}),
        authority().issue({.names = "DNS:other.example.org"})}) {
    RedisServer server(tls_server(files));
    const std::string fingerprint = authority().fingerprint_of(files);
    RedisAddress address = trusting(server);
    for (const std::string& refusal : {refusal_of(address), async_refusal_of(address)})
      BOOST_TEST(contains(refusal, "its fingerprint is " + fingerprint + ": if that is the server's own, [redis.tls]"),
                 refusal);

    address.tls->ca = {};
    std::string plain = fingerprint;
    std::erase(plain, ':');
    std::transform(plain.begin(), plain.end(), plain.begin(), [](char c) { return c >= 'A' ? char(c + 32) : c; });
    const std::string other(64, '0');
    for (const std::string& verify : {"pin:" + fingerprint, "pin:" + plain, "pin:" + other + "," + plain}) {
      address.tls->verify = TlsVerify::parse(verify);
      BOOST_TEST(Connection(address, patient).call({"PING"}).view().text() == "PONG");
      BOOST_TEST(async_refusal_of(address) == "");
    }
    address.tls->verify = TlsVerify::parse("pin:" + other);
    for (const std::string& refusal : {refusal_of(address), async_refusal_of(address)})
      BOOST_TEST(contains(refusal, "the server's certificate has the fingerprint " + fingerprint +
                                       ", which [redis.tls] verify does not pin"),
                 refusal);
    address.tls->verify = TlsVerify::parse("none");
    BOOST_TEST(Connection(address, patient).call({"PING"}).view().text() == "PONG");
    BOOST_TEST(async_refusal_of(address) == "");
  }
}

BOOST_AUTO_TEST_CASE(a_pin_is_no_other_certificate_of_the_same_authority_or_key) {
  const RedisServer::TlsFiles one = authority().issue(), other = authority().issue();
  RedisServer server(tls_server(one));
  RedisAddress address = server.address();
  address.tls->ca = {};
  for (const std::string& pinned :
       {authority().fingerprint_of(other), authority().fingerprint_of(authority().self_signed())}) {
    address.tls->verify = TlsVerify::parse("pin:" + pinned);
    BOOST_TEST(contains(refusal_of(address), "does not pin"));
  }
}

BOOST_AUTO_TEST_CASE(a_server_with_a_pin_may_require_a_client_certificate) {
  RedisServer::TlsFiles files = authority().issue({.names = "DNS:other.example.org"});
  files.requires_clients = true;
  RedisServer server(tls_server(files));
  RedisAddress address = server.address();
  address.tls->ca = {};
  address.tls->verify = TlsVerify::parse("pin:" + authority().fingerprint_of(files));
  BOOST_TEST(contains(refusal_of(address), "requires a client certificate"));
  const RedisServer::TlsFiles client = authority().issue();
  address.tls->cert = {client.cert, "cert"};
  address.tls->key = {client.key, "key"};
  BOOST_TEST(Connection(address, patient).call({"PING"}).view().text() == "PONG");
}

BOOST_AUTO_TEST_CASE(sentinels_and_nodes_of_a_cluster_are_trusted_by_pins) {
  const RedisServer::TlsFiles files = authority().issue();
  const TlsVerify pinned = TlsVerify::parse("pin:" + authority().fingerprint_of(files)),
                  another = TlsVerify::parse("pin:" + std::string(64, 'a'));
  SentinelSetup sentinels({.replicas = 1, .tls = files});
  RedisCluster cluster({.replicas_of_each = 0, .append_only = false, .tls = files});
  for (RedisAddress address : {sentinels.address(), cluster.address()}) {
    address.tls->ca = {};
    BOOST_TEST(contains(refusal_of(address), "unknown authority"));
    address.tls->verify = pinned;
    BOOST_TEST(Connection(address, patient).call({"PING"}).view().text() == "PONG");
    address.tls->verify = another;
    BOOST_TEST(contains(refusal_of(address), "does not pin"));
  }
}

BOOST_AUTO_TEST_CASE(a_client_has_its_pin_from_the_environment) {
  const RedisServer::TlsFiles files = authority().self_signed();
  RedisServer server(tls_server(files));
  const auto pushes = [&] {
    try {
      Client(server.url()).push({.job_class = "A"});
      return std::string();
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
  };
  BOOST_TEST(contains(pushes(), "fingerprint"));
  setenv("BROOD_REDIS_TLS_VERIFY", ("pin:" + authority().fingerprint_of(files)).c_str(), 1);
  BOOST_TEST(pushes() == "");
  setenv("BROOD_REDIS_TLS_VERIFY", "none", 1);
  BOOST_TEST(pushes() == "");
  setenv("BROOD_REDIS_TLS_VERIFY", "pin:12", 1);
  BOOST_TEST(contains(pushes(), "BROOD_REDIS_TLS_VERIFY must have a SHA-256"));
  unsetenv("BROOD_REDIS_TLS_VERIFY");
  BOOST_TEST(server.size_of("queue:default") == 2u);
}

BOOST_AUTO_TEST_CASE(a_client_certificate_is_shown_to_a_server_that_requires_one) {
  RedisServer::TlsFiles files = authority().issue();
  files.requires_clients = true;
  RedisServer server(tls_server(files));
  RedisAddress address = trusting(server);
  const RedisServer::TlsFiles client = authority().issue();
  address.tls->cert = {client.cert, "cert"};
  address.tls->key = {client.key, "key"};
  BOOST_TEST(Connection(address, patient).call({"PING"}).view().text() == "PONG");

  // Both in one file.
  const TemporaryDirectory directory;
  BOOST_REQUIRE(std::system(("cat " + client.cert + " " + client.key + " >" + (directory / "both")).c_str()) == 0);
  address.tls->cert.path = directory / "both";
  address.tls->key = {};
  BOOST_TEST(Connection(address, patient).call({"PING"}).view().text() == "PONG");
}

BOOST_AUTO_TEST_CASE(an_authority_may_be_any_file_of_a_directory) {
  RedisServer server(tls_server());
  const TemporaryDirectory directory;
  directory.write("README", "Whom we trust.\n");
  BOOST_REQUIRE(std::system(("cp " + authority().ca() + " " + (directory / "ours.crt")).c_str()) == 0);
  RedisAddress address = trusting(server);
  address.tls->ca.path = directory.path();
  BOOST_TEST(Connection(address, patient).call({"PING"}).view().text() == "PONG");
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_used_are_named_with_the_setting) {
  const TemporaryDirectory directory;
  const RedisServer::TlsFiles one = authority().issue(), other = authority().issue();
  const std::string empty = directory.write("empty", ""), protected_key = directory / "protected";
  BOOST_REQUIRE(
      std::system(("openssl ec -aes128 -passout pass:secret -in " + one.key + " -out " + protected_key + " 2>/dev/null")
                      .c_str()) == 0);
  const std::string none = directory / "none";
  mkdir(none.c_str(), 0700);
  using File = TlsSettings::File;
  const auto error_of = [](const File& ca, const File& cert, const File& key) {
    return tls_error_of({.ca = ca, .cert = cert, .key = key, .server_name = {}});
  };
  const auto cert = File{one.cert, "f:2: redis.tls.cert"};
  const auto key = [](const std::string& path) { return File{path, "f:3: redis.tls.key"}; };
  const auto ca = [](const std::string& path) { return File{path, "f:1: redis.tls.ca"}; };
  BOOST_TEST(error_of({}, cert, key(one.key)) == "");
  BOOST_TEST(error_of(ca("/nowhere"), {}, {}) ==
             "f:1: redis.tls.ca: /nowhere cannot be read: No such file or directory");
  BOOST_TEST(error_of(ca(empty), {}, {}) == "f:1: redis.tls.ca: " + empty + " holds no certificate");
  BOOST_TEST(error_of(ca(none), {}, {}) ==
             "f:1: redis.tls.ca: " + none + " is a directory in which no file holds a certificate");
  BOOST_TEST(error_of({}, {empty, "f:2: redis.tls.cert"}, key(one.key)) ==
             "f:2: redis.tls.cert: " + empty + " holds no certificate");
  BOOST_TEST(error_of({}, cert, key(empty)) == "f:3: redis.tls.key: " + empty + " holds no private key");
  BOOST_TEST(error_of({}, cert, key(other.key)) ==
             "f:3: redis.tls.key: " + other.key + " is not the key of the certificate " + one.cert);
  BOOST_TEST(contains(error_of({}, cert, key(protected_key)), "is protected by a passphrase"));
  BOOST_TEST(contains(error_of({}, cert, {}), "holds no private key"));
  BOOST_TEST(contains(error_of({}, {}, key(one.key)), "cert is missing"));
}

BOOST_AUTO_TEST_CASE(a_plain_server_is_told_from_one_that_is_slow) {
  RedisServer plain({.tcp = true});
  RedisAddress address = plain.address();
  address.tls.emplace();
  const auto start = steady_now();
  BOOST_TEST(contains(refusal_of(address, 4s), "does not speak TLS"));
  BOOST_TEST((steady_now() - start < 20s));
  BOOST_TEST(contains(async_refusal_of(address), "does not speak TLS"));

  const ScriptedServer web("HTTP/1.1 400 Bad Request\r\n\r\n");
  TcpProxy port_of_web(web.address().socket_path, TcpProxy::Listen::tcp);
  BOOST_TEST(contains(refusal_of(through(port_of_web)), "does not speak TLS"));

  // A server that never answers may only hang, so the message suggests that TLS may be missing.
  RedisServer still(tls_server());
  still.pause();
  BOOST_CHECK_EXCEPTION(
      Connection(trusting(still), {500ms, 500ms}).call({"PING"}), ConnectionLost, [](const ConnectionLost& lost) {
        return lost.why != Loss::login_refused && contains(lost.what(), "perhaps the server does not speak TLS");
      });
  still.resume();
}

BOOST_AUTO_TEST_CASE(a_server_that_speaks_tls_is_recognised_by_a_client_that_does_not) {
  RedisServer server(tls_server());
  RedisAddress plain = server.address();
  plain.tls.reset();
  BOOST_CHECK_EXCEPTION(Connection(plain, patient).call({"PING"}), ConnectionLost,
                        [](const ConnectionLost& lost) { return contains(lost.what(), "TLS"); });
}

BOOST_AUTO_TEST_CASE(parent_and_child_have_a_conversation_each) {
  RedisServer server(tls_server());
  setenv("BROOD_REDIS_TLS_CA", authority().ca().c_str(), 1);
  {
    Client client(server.url());
    client.push({.job_class = "A"});
    ForkedChild child([&] {
      for (int i = 0; i < 50; ++i) client.push({.job_class = "A"});
      return true;
    });
    for (int i = 0; i < 50; ++i) client.push({.job_class = "A"});
    BOOST_TEST(child.was_well());
    client.push({.job_class = "A"});
  }
  unsetenv("BROOD_REDIS_TLS_CA");
  BOOST_TEST(server.size_of("queue:default") == 102u);
  BOOST_CHECK_EXCEPTION(Client(server.url()).push({.job_class = "A"}), RedisError,
                        [](const RedisError& error) { return contains(error.what(), "certificate"); });
}

// A client that lives to the very end of a program.
BOOST_AUTO_TEST_CASE(a_static_client_ends_in_peace) {
  RedisServer server(tls_server());
  const RedisAddress address = trusting(server);
  const pid_t child = fork();
  if (child == 0) {
    static std::unique_ptr<Connection> redis = std::make_unique<Connection>(address, patient);
    redis->call({"PING"});
    static std::vector<Connection> late;
    late.emplace_back(address, patient);
    late.back().call({"PING"});
    exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  BOOST_TEST((WIFEXITED(status) && WTERMSIG(status) == 0));
}

BOOST_AUTO_TEST_CASE(renewed_certificates_hold_for_the_connections_that_begin) {
  const TestAuthority next("Next Authority");
  RedisServer server(tls_server());
  RedisAddress address = trusting(server);
  address.certificates = std::make_shared<TlsCertificates>(*address.tls);
  TurnedLoop loop;
  AsyncConnection async(loop.get(), "test", {});
  async.open(address);
  BOOST_REQUIRE(loop.until([&] { return async.connected(); }));
  server.show(next.issue());
  TlsSettings renewed = *address.tls;
  renewed.ca.path = next.ca();
  address.certificates->follow(TlsCertificates(renewed));
  BOOST_TEST(answer_to(loop, async, {"PING"})->ok());
  server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  BOOST_TEST(loop.until([&] { return !async.connected(); }));
  BOOST_TEST(loop.until([&] { return async.connected(); }), async.refusal());
}

// The openssl program as a server that changes its keys: "K" asks for new keys of ours, too.
BOOST_AUTO_TEST_CASE(keys_may_change_in_the_midst_of_a_conversation) {
  const RedisServer::TlsFiles files = authority().issue();
  const std::uint16_t port = free_port();
  int words[2], said[2];
  BOOST_REQUIRE(pipe2(words, O_CLOEXEC) == 0);
  BOOST_REQUIRE(pipe2(said, O_CLOEXEC) == 0);
  const pid_t server = fork();
  if (server == 0) {
    dup2(words[0], 0);
    dup2(said[1], 1);
    dup2(said[1], 2);
    const std::string accept = "127.0.0.1:" + std::to_string(port);
    execlp("openssl", "openssl", "s_server", "-accept", accept.c_str(), "-cert", files.cert.c_str(), "-key",
           files.key.c_str(), "-tls1_3", "-crlf", "-msg", "-naccept", "1", nullptr);
    _exit(127);
  }
  close(words[0]);
  close(said[1]);
  const UniqueFd to(words[1]), from(said[0]);
  std::string heard;
  const auto hears = [&](const std::string& word) {
    char bytes[4096];
    while (!contains(heard, word)) {
      const ssize_t count = read(from.get(), bytes, sizeof bytes);
      if (count <= 0) return false;
      heard.append(bytes, static_cast<std::size_t>(count));
    }
    heard.clear();
    return true;
  };
  const auto says = [&](const std::string& line) { check("write", write(to.get(), line.data(), line.size())); };
  BOOST_REQUIRE(hears("ACCEPT"));
  RedisAddress address = RedisAddress::parse("rediss://127.0.0.1:" + std::to_string(port));
  address.tls->ca = {authority().ca(), "ca"};
  std::thread speaker([&] {
    for (int i = 0; i < 3; ++i) {
      if (!hears("GIVE" + std::to_string(i))) return;
      says("K\n");
      if (!hears("KeyUpdate")) return;
      says("+GIVEN" + std::to_string(i) + "\n");
    }
  });
  Connection redis(address, patient);
  std::string given;
  try {
    for (int i = 0; i < 3; ++i) given.append(redis.call({"GIVE" + std::to_string(i)}).view().text()).append(" ");
  } catch (const ConnectionLost& lost) {
    given += lost.what();
  }
  BOOST_TEST(given == "GIVEN0 GIVEN1 GIVEN2 ");
  kill(server, SIGKILL);
  speaker.join();
  waitpid(server, nullptr, 0);
}
