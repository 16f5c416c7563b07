#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/web/http/http_message.hpp"

namespace brood {

inline constexpr std::size_t longest_http_header = 16 * 1024, longest_http_body = 64 * 1024;

// Makes requests of HTTP/1.1 of the bytes of one connection, by the parser of Boost.Beast.  What a proxy might
// understand in another way than we do is refused: every Transfer-Encoding, lengths that differ, two of a field that is
// read as one, no Host, folded lines, a target that is no path.
class HttpParser {
 public:
  HttpParser();
  ~HttpParser();
  HttpParser(const HttpParser&) = delete;
  HttpParser& operator=(const HttpParser&) = delete;

  void add(std::string_view bytes);

  // The next request that is whole; nullopt: more is needed, or it is refused.  After a refusal nothing more is read.
  std::optional<HttpRequest> next();

  // The status of the answer to what cannot be read; 0: nothing was refused.
  int refusal() const { return refusal_; }
  bool has_begun() const;                                      // something of a request is there
  bool awaits_body() const;                                    // its header is whole
  std::size_t size() const { return bytes_.size() - taken_; }  // that wait to be read

 private:
  struct Beast;
  std::unique_ptr<Beast> beast_;
  std::string bytes_;
  std::size_t taken_ = 0;  // of them, from the first on
  int refusal_ = 0;
  bool header_is_read_ = false;
};

}  // namespace brood
