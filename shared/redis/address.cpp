#include "shared/redis/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <optional>
#include <string_view>

#include "shared/base/ascii.hpp"

namespace brood {

namespace {

// No message here may quote any part of the URL: a password with an unescaped `/` or `@` is parsed as host or port.

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0)
      throw AddressError("a % in the Redis URL's user or password is not followed by two hex digits; write % as %25");
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

template <typename Number>
std::optional<Number> whole_number(std::string_view digits, Number least, Number most) {
  Number number{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (number < least || number > most) return std::nullopt;
  return number;
}

int parse_db(std::string_view digits) {
  const std::optional<int> db = whole_number<int>(digits, 0, INT_MAX);
  if (!db) throw AddressError("the database in the Redis URL is not a number from 0 up");
  return *db;
}

// Cuts `?db=N` off `rest` and returns N.
std::optional<int> take_query(std::string_view& rest) {
  const std::size_t mark = rest.find('?');
  if (mark == std::string_view::npos) return std::nullopt;
  std::string_view query = rest.substr(mark + 1);
  rest = rest.substr(0, mark);

  std::optional<int> db;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (!pair.starts_with("db="))
      throw AddressError("the Redis URL has a parameter that is not known here; only ?db=N is");
    db = parse_db(pair.substr(3));
  }
  return db;
}

void parse_user_info(std::string_view text, RedisAddress& address) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos)
    throw AddressError("the Redis URL has something before @ without a colon; write user:password@ or :password@");
  address.user = percent_decoded(text.substr(0, colon));
  std::string password = percent_decoded(text.substr(colon + 1));
  address.password = password;
  wipe(password);
}

constexpr std::uint16_t usual_port_of_sentinels = 26'379;

bool numeric(const std::string& host) {
  in_addr v4;
  in6_addr v6;
  const std::string without_zone = host.substr(0, host.find('%'));
  return inet_pton(AF_INET, host.c_str(), &v4) == 1 || inet_pton(AF_INET6, without_zone.c_str(), &v6) == 1;
}

RedisSeed parse_host_and_port(std::string_view text, std::uint16_t usual_port) {
  RedisSeed address{"", usual_port};
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t bracket = text.find(']');
    if (bracket == std::string_view::npos) throw AddressError("the Redis URL's [ has no ]");
    address.host = text.substr(1, bracket - 1);
    if (address.host.find(':') == std::string::npos || !numeric(address.host))
      throw AddressError("what stands in brackets in the Redis URL is no IPv6 address");
    port = text.substr(bracket + 1);
    if (!port.empty() && port.front() != ':') throw AddressError("after the ] in the Redis URL only :port may follow");
  } else {
    if (std::count(text.begin(), text.end(), ':') > 1)
      throw AddressError("the host in the Redis URL has several colons; write an IPv6 address in [brackets]");
    const std::size_t colon = std::min(text.find(':'), text.size());
    address.host = colon == 0 ? "127.0.0.1" : std::string(text.substr(0, colon));
    port = text.substr(colon);
    const auto fits_a_name = [](char c) { return ascii::is_letter_or_digit(c) || c == '.' || c == '-' || c == '_'; };
    if (!std::all_of(address.host.begin(), address.host.end(), fits_a_name))
      throw AddressError("the host in the Redis URL has a character that no host name has");
  }
  if (port.empty()) return address;
  const std::optional<int> number = whole_number<int>(port.substr(1), 1, 65'535);
  if (!number) throw AddressError("the port in the Redis URL is not a number from 1 to 65535");
  address.port = static_cast<std::uint16_t>(*number);
  return address;
}

// host[:port],host[:port],...
std::vector<RedisSeed> parse_seeds(std::string_view list, std::uint16_t usual_port) {
  std::vector<RedisSeed> seeds;
  for (;;) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view one = list.substr(0, comma);
    if (one.empty()) throw AddressError("the Redis URL has an empty place in its list of hosts");
    if (const RedisSeed seed = parse_host_and_port(one, usual_port);
        std::find(seeds.begin(), seeds.end(), seed) == seeds.end())
      seeds.push_back(seed);
    if (comma == list.size()) return seeds;
    list.remove_prefix(comma + 1);
  }
}

std::string host_text(const std::string& host) { return host.find(':') == std::string::npos ? host : "[" + host + "]"; }

// [user:password@]/path[?db=N]
RedisAddress parse_socket(std::string_view rest) {
  RedisAddress address;
  address.db = take_query(rest).value_or(0);
  if (!rest.starts_with('/')) {
    // The last @ before the path: a socket's own name may hold one too.
    const std::size_t at = rest.rfind('@', rest.find('/'));
    if (at == std::string_view::npos) throw AddressError("the path of a Redis socket must begin with /");
    parse_user_info(rest.substr(0, at), address);
    rest.remove_prefix(at + 1);
  }
  if (!rest.starts_with('/') || rest.size() < 2) throw AddressError("the path of a Redis socket must begin with /");
  if (rest.size() >= sizeof(sockaddr_un::sun_path))
    throw AddressError(fmt::format("the path of the Redis socket is longer than the {} bytes that a socket may have",
                                   sizeof(sockaddr_un::sun_path) - 1));
  address.socket_path = rest;
  return address;
}

// [user:password@][host][:port][/db][?db=N]
RedisAddress parse_tcp(std::string_view rest) {
  RedisAddress address;
  const std::optional<int> query_db = take_query(rest);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  std::string_view path = rest.substr(slash);
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    parse_user_info(authority.substr(0, at), address);
    authority.remove_prefix(at + 1);
  }
  const RedisSeed server = parse_host_and_port(authority, address.port);
  address.host = server.host;
  address.port = server.port;

  if (!path.empty()) path.remove_prefix(1);
  const std::optional<int> path_db = path.empty() ? std::nullopt : std::optional(parse_db(path));
  if (path_db && query_db && *path_db != *query_db)
    throw AddressError("the Redis URL names two different databases, one in its path and one in ?db=");
  address.db = path_db.value_or(query_db.value_or(0));
  return address;
}

// [user:password@]host[:port],host[:port]/name[?db=N]
RedisAddress parse_sentinels(std::string_view rest) {
  RedisAddress address;
  address.db = take_query(rest).value_or(0);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    parse_user_info(authority.substr(0, at), address);
    authority.remove_prefix(at + 1);
  }
  address.seeds = parse_seeds(authority, usual_port_of_sentinels);
  address.master = slash == rest.size() ? "" : rest.substr(slash + 1);
  const auto fits_a_name = [](char c) { return ascii::is_letter_or_digit(c) || c == '.' || c == '-' || c == '_'; };
  if (address.master.empty() || !std::all_of(address.master.begin(), address.master.end(), fits_a_name))
    throw AddressError(
        "the Redis URL must end with the name by which the sentinels know the master: sentinel://a:26379,b,c/mymaster");
  return address;
}

// [user:password@]host[:port],host[:port]
RedisAddress parse_cluster(std::string_view rest) {
  RedisAddress address;
  const std::optional<int> query_db = take_query(rest);
  if (!rest.empty() && rest.back() == '/') rest.remove_suffix(1);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  const std::string_view path = rest.substr(slash);
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    parse_user_info(authority.substr(0, at), address);
    authority.remove_prefix(at + 1);
  }
  if (query_db.value_or(0) != 0 || (!path.empty() && path != "/0"))
    throw AddressError("a Redis Cluster has database 0 alone; write cluster://a:6379,b:6379 without a database");
  address.seeds = parse_seeds(authority, address.port);
  address.in_cluster = true;
  return in_shard(std::move(address), 0);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), ascii::lower);
  return lower;
}

}  // namespace

RedisAddress in_shard(RedisAddress cluster, int number) {
  cluster.shard = std::to_string(number);
  cluster.key_prefix = fmt::format("{{brood:{}}}", number);
  return cluster;
}

RedisAddress RedisAddress::parse(const std::string& url) {
  if (url.empty()) throw AddressError("the Redis URL is empty");
  if (std::any_of(url.begin(), url.end(), [](unsigned char c) { return c <= ' ' || c == 0x7f; }))
    throw AddressError("the Redis URL has a space or a control character in it");
  if (url.front() == '/') return parse_socket(url);
  if (lower_case(url.substr(0, 6)) == "unix:/" && url.compare(5, 2, "//") != 0) return parse_socket(url.substr(5));

  const std::size_t mark = url.find("://");
  if (mark == std::string::npos)
    throw AddressError("this is no Redis URL; write redis://host:port, unix:///path or the path of a socket");
  const std::string scheme = lower_case(std::string_view(url).substr(0, mark));
  const std::string_view rest = std::string_view(url).substr(mark + 3);
  if (scheme == "redis") return parse_tcp(rest);
  if (scheme == "rediss") {
    RedisAddress address = parse_tcp(rest);
    address.tls.emplace();
    return address;
  }
  if (scheme == "unix") return parse_socket(rest);
  if (scheme == "sentinel" || scheme == "redis+sentinel" || scheme == "redis-sentinel") return parse_sentinels(rest);
  if (scheme == "cluster") return parse_cluster(rest);
  throw AddressError(
      "the Redis URL has an unknown scheme; redis://, rediss://, unix://, sentinel:// and cluster:// are known");
}

std::string RedisAddress::without_password() const {
  const std::string who = user.empty() ? "" : user + "@";
  if (!socket_path.empty())
    return fmt::format("unix://{}{}{}", who, socket_path, db == 0 ? "" : fmt::format("?db={}", db));
  if (must_be_found()) {
    std::string known;
    for (const RedisSeed& seed : seeds)
      known += fmt::format("{}{}:{}", known.empty() ? "" : ",", host_text(seed.host), seed.port);
    if (in_cluster) return fmt::format("cluster://{}{}", who, known);
    return fmt::format("sentinel://{}{}/{}{}", who, known, master, db == 0 ? "" : fmt::format("?db={}", db));
  }
  return fmt::format("{}://{}{}:{}/{}", tls ? "rediss" : "redis", who, host_text(host), port, db);
}

bool RedisAddress::needs_resolving() const {
  return socket_path.empty() && !must_be_found() && numeric_hosts.empty() && !numeric(host);
}

}  // namespace brood
