#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/web/http/http_message.hpp"

namespace brood {

inline constexpr std::size_t longest_http_header = 16 * 1024, longest_http_body = 64 * 1024;

// Parses the bytes of one connection into HTTP/1.1 requests, with Boost.Beast.  Refuses what a proxy might read
// differently: every Transfer-Encoding, contradictory lengths, a repeated single-valued header, a missing Host, folded
// lines, a target that is no path.
class HttpParser {
 public:
  HttpParser();
  ~HttpParser();
  HttpParser(const HttpParser&) = delete;
  HttpParser& operator=(const HttpParser&) = delete;

  void add(std::string_view bytes);

  // The next whole request; nullopt if more bytes are needed, or after a refusal, which ends the reading.
  std::optional<HttpRequest> next();

  // The status of the refusal; 0 if none.
  int refusal() const { return refusal_; }
  bool has_begun() const;                                      // part of a request is there
  bool awaits_body() const;                                    // its header is whole
  std::size_t size() const { return bytes_.size() - taken_; }  // bytes not read yet

 private:
  struct Beast;
  std::unique_ptr<Beast> beast_;
  std::string bytes_;
  std::size_t taken_ = 0;  // of `bytes_`, from the front
  int refusal_ = 0;
  bool header_is_read_ = false;
};

}  // namespace brood
