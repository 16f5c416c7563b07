#pragma once

#include <sys/socket.h>

#include <deque>
#include <optional>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/config/http_endpoint.hpp"
#include "supervisor/otlp/export_verdict.hpp"

namespace brood {

// One request to a collector, on a connection of its own that never blocks.  Names are looked up before, which may take
// a while.
class CollectorRequest {
 public:
  CollectorRequest(const HttpEndpoint& endpoint, const std::string& headers, const std::string& body, SteadyTime now);

  // To be polled for these events until the deadline.  -1: there is none, call go_on().
  int fd() const { return fd_.get(); }
  short events() const;
  SteadyTime deadline() const { return deadline_; }

  // Goes on as far as it can; the verdict once there is one.
  std::optional<ExportVerdict> go_on(SteadyTime now);

 private:
  struct Address {
    sockaddr_storage to;
    socklen_t size;
    int family;
  };

  bool connect_to_next();
  std::optional<ExportVerdict> failed(const std::string& why);
  static ExportVerdict again(std::string why);

  std::deque<Address> addresses_;
  std::string output_;
  std::size_t sent_ = 0;
  bool connects_ = false;
  SteadyTime deadline_;
  UniqueFd fd_;
  std::string trouble_;  // with the address before
  HttpAnswer answer_;
};

// The further lines of a request, from a file of "Name: value" lines; each ends with CRLF.  Throws std::runtime_error
// for a file that cannot be read, or holds something else.
std::string read_headers(const std::string& path);

}  // namespace brood
