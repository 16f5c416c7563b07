#pragma once

#include <netdb.h>
#include <sys/socket.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace brood {

// Looks a host's addresses up in a thread of its own, since getaddrinfo(3) may block for many seconds.  If this object
// goes before the end, the thread goes on by itself, and its result is forgotten.
class NameLookup {
 public:
  struct Address {
    sockaddr_storage to;
    socklen_t size;
    int family;
  };
  struct End {
    std::deque<Address> addresses = {};
    std::string trouble = {};  // why there are none
  };
  using Resolver = decltype(&getaddrinfo);

  // `host` is a name or an address.  `resolver` has the interface of getaddrinfo(3).
  NameLookup(const std::string& host, std::uint16_t port, Resolver resolver = &getaddrinfo);

  // Readable once the end has come.  -1: it has come already.
  int fd() const;
  std::optional<End> end() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace brood
