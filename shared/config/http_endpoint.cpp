#include "shared/config/http_endpoint.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <charconv>
#include <stdexcept>
#include <string_view>

namespace brood {
namespace {

constexpr std::string_view in_clear = "http://", by_tls = "https://";
constexpr std::size_t longest_url = 1'000;
constexpr std::uint16_t usual_port = 80, usual_port_of_tls = 443;

bool is_printable(char c) { return c > ' ' && c < '\x7f'; }

std::uint16_t read_port(std::string_view digits) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port == 0)
    throw std::invalid_argument(fmt::format("has no port that is 1 to 65535, but \"{}\"", digits));
  return port;
}

}  // namespace

std::string HttpEndpoint::host_and_port() const {
  const bool is_six = host.find(':') != host.npos;
  return fmt::format("{}{}{}:{}", is_six ? "[" : "", host, is_six ? "]" : "", port);
}

HttpEndpoint HttpEndpoint::parse(const std::string& url) {
  HttpEndpoint endpoint;
  endpoint.is_tls = url.starts_with(by_tls);
  if (!endpoint.is_tls && !url.starts_with(in_clear))
    throw std::invalid_argument("must begin with http:// or https://");
  if (url.size() > longest_url) throw std::invalid_argument("is longer than 1,000 bytes");
  for (const char c : url) {
    if (!is_printable(c) || c == '?' || c == '#' || c == '@' || c == '"' || c == '\\')
      throw std::invalid_argument(
          "must be http://HOST:PORT or https://HOST:PORT, perhaps with a path, and nothing else");
  }
  const std::string_view rest = std::string_view(url).substr(endpoint.is_tls ? by_tls.size() : in_clear.size());
  const std::size_t slash = rest.find('/');
  std::string_view where = rest.substr(0, slash);
  if (slash != rest.npos) endpoint.path = rest.substr(slash);
  while (endpoint.path.ends_with('/')) endpoint.path.pop_back();
  if (where.starts_with('[')) {
    const std::size_t bracket = where.find(']');
    if (bracket == where.npos) throw std::invalid_argument("lacks a ]");
    endpoint.host = where.substr(1, bracket - 1);
    where.remove_prefix(bracket + 1);
    if (!where.empty() && where.front() != ':') throw std::invalid_argument("has something behind the ]");
    if (endpoint.host.find(':') == endpoint.host.npos) throw std::invalid_argument("has no address in its brackets");
  } else {
    const std::size_t colon = where.find(':');
    endpoint.host = where.substr(0, colon);
    where.remove_prefix(endpoint.host.size());
  }
  if (endpoint.host.empty() || endpoint.host.find_first_of("[]") != endpoint.host.npos)
    throw std::invalid_argument("names no host");
  endpoint.port = where.empty() ? (endpoint.is_tls ? usual_port_of_tls : usual_port) : read_port(where.substr(1));
  return endpoint;
}

namespace {

constexpr const char* forms = "must be unix:/path, or an address in numbers and a port such as \"127.0.0.1:7433\"";

bool is_address(const std::string& host) {
  in6_addr six{};
  in_addr four{};
  return inet_pton(AF_INET, host.c_str(), &four) == 1 || inet_pton(AF_INET6, host.c_str(), &six) == 1;
}

}  // namespace

bool ListenAddress::is_local() const {
  if (is_unix() || host == "::1") return true;
  in_addr four{};
  return inet_pton(AF_INET, host.c_str(), &four) == 1 && ntohl(four.s_addr) >> 24 == 127;
}

std::string ListenAddress::text() const {
  if (is_unix()) return "unix:" + path;
  return host.find(':') == host.npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

ListenAddress ListenAddress::parse(const std::string& text) {
  ListenAddress address;
  if (text.starts_with("unix:")) {
    address.path = text.substr(5);
    if (address.path.starts_with("//")) address.path.erase(0, 2);
    if (!address.path.starts_with('/') || address.path.find('\0') != text.npos || address.path.size() > 100)
      throw std::invalid_argument("must name a whole path of at most 100 bytes after unix:");
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) throw std::invalid_argument(forms);
  address.host = text.substr(0, colon);
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  if (address.host == "localhost") address.host = "127.0.0.1";
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc{} || parsed != end || !is_address(address.host)) throw std::invalid_argument(forms);
  return address;
}

}  // namespace brood
