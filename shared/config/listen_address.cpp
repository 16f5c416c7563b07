#include "shared/config/listen_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <charconv>
#include <stdexcept>

namespace brood {
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
