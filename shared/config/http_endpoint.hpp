#pragma once

#include <cstdint>
#include <string>

namespace brood {

// The address of an HTTP server, and the prefix of all its paths.
struct HttpEndpoint {
  std::string host;  // a name, or an address without brackets
  std::uint16_t port = 0;
  bool is_tls = false;
  std::string path;  // without a slash at its end; empty, or beginning with one

  std::string host_and_port() const;  // as a Host header has it

  // "http://127.0.0.1:4318", "http://[::1]:4318", "https://collector/prefix".  Throws std::invalid_argument: the second
  // half of a sentence.
  static HttpEndpoint parse(const std::string& url);
};

// The address that a page listens at: a Unix socket, or one numeric address and a port.
struct ListenAddress {
  std::string path;  // of a Unix socket; empty: by TCP
  std::string host;  // a numeric address, without brackets
  std::uint16_t port = 0;

  bool is_unix() const { return !path.empty(); }
  bool is_local() const;  // other machines cannot reach it
  std::string text() const;

  // "unix:/run/brood/web.sock", "127.0.0.1:7433", "[::1]:7433".  Throws std::invalid_argument: the second half of a
  // sentence.
  static ListenAddress parse(const std::string& text);
};

}  // namespace brood
