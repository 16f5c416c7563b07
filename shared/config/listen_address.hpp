#pragma once

#include <cstdint>
#include <string>

namespace brood {

// Where a page listens: a Unix socket, or one address in numbers and a port.
struct ListenAddress {
  std::string path;  // of a Unix socket; empty: by TCP
  std::string host;  // an address in numbers, without brackets
  std::uint16_t port = 0;

  bool is_unix() const { return !path.empty(); }
  bool is_local() const;  // nobody on another machine can reach it
  std::string text() const;

  // "unix:/run/brood/web.sock", "127.0.0.1:7433", "[::1]:7433".  Throws std::invalid_argument: the second half of a
  // sentence.
  static ListenAddress parse(const std::string& text);
};

}  // namespace brood
