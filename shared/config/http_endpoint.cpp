#include "shared/config/http_endpoint.hpp"

#include <fmt/format.h>

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

}  // namespace brood
