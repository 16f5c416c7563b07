#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "shared/redis/async_connection.hpp"
#include "shared/redis/connection.hpp"
#include "tests/store/turned_loop.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/tcp_proxy.hpp"
#include "tests/support/test_authority.hpp"

// The common parts of tests of TLS: an authority, servers that it certifies, and their addresses.
namespace brood::tls_tests {

using namespace std::chrono_literals;

inline const Connection::Timeouts patient{20s, 20s};

inline const TestAuthority& authority() {
  static const TestAuthority ours;
  return ours;
}

inline RedisServer::Options tls_server(const RedisServer::TlsFiles& files = authority().issue()) {
  return {.tls = files};
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The address of `server`, with trust in our authority.
inline RedisAddress trusting(const RedisServer& server) {
  RedisAddress address = server.address();
  address.tls->ca = {authority().ca(), "ca"};
  return address;
}

inline RedisAddress through(const TcpProxy& proxy) {
  RedisAddress address = proxy.address();
  address.tls.emplace().ca = {authority().ca(), "ca"};
  return address;
}

inline std::optional<AsyncConnection::Result> answer_to(TurnedLoop& loop, AsyncConnection& redis,
                                                        const Command& command) {
  std::optional<AsyncConnection::Result> answer;
  redis.send(command, 20s, [&](AsyncConnection::Result result) { answer = std::move(result); });
  loop.until([&] { return answer.has_value(); });
  return answer;
}

inline std::string of_size(std::size_t bytes) {
  std::string text(bytes, 'x');
  for (std::size_t i = 0; i < bytes; i += 251) text[i] = static_cast<char>('a' + i / 251 % 26);
  return text;
}

}  // namespace brood::tls_tests
