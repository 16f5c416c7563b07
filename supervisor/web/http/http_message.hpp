#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace brood {

// "name=value" pairs, decoded: of a query, or of a form.  Of a name that is there twice the first counts.
class FormValues {
 public:
  // "a=1&b=two%20words", "+" for a space; what is no percent escape stays as it is.  At most so many pairs are read.
  static FormValues parse(std::string_view text);

  std::optional<std::string> find(std::string_view name) const;
  std::string value(std::string_view name) const { return find(name).value_or(""); }  // empty: there is none
  std::vector<std::string> all(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
  const std::vector<std::pair<std::string, std::string>>& pairs() const { return pairs_; }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

// What is no percent escape stays as it is.
std::string percent_decoded(std::string_view text);
// With everything but letters, digits and -._~ as %XX.
std::string percent_encoded_value(std::string_view text);

// One whole request.  Whatever a client writes may stand in it.
struct HttpRequest {
  std::string method;                                        // as written: "GET"
  std::string path;                                          // decoded, begins with "/"
  std::string query;                                         // as written, without "?"
  std::vector<std::pair<std::string, std::string>> headers;  // names in small letters
  std::string body;
  bool keeps_alive = false;
  std::optional<uid_t> peer;  // whose process sends it, as the kernel says; nullopt: not by a Unix socket

  // The only value of that name; nullopt when there is none, or more than one.
  std::optional<std::string_view> header(std::string_view name) const;
  // Whether its Content-Type is this one, whatever parameters follow.
  bool is_of_type(std::string_view type) const;
  // The value of a cookie; nullopt: there is none.
  std::optional<std::string> cookie(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  // beside those that every answer has
  bool is_lasting = false;                                        // a client may keep it for ever; else not at all
};

// The bytes of an answer, without the body for a HEAD.  Every answer forbids scripts, styles, frames and forms from
// anywhere but here, guessing of types, referrers and, where it is not lasting, keeping.  A header whose value has a
// CR, LF or NUL throws std::logic_error: what others wrote never gets into one as it is.
std::string bytes_of(const HttpResponse& response, bool with_body, bool keeps_alive);
// The beginning of an answer that has no end but the connection's: its body is the first of it.
std::string beginning_of_stream(const HttpResponse& response);

// One event of a stream of type text/event-stream.  Whatever `data` holds, it stays one.
std::string event_text(std::string_view name, std::string_view data);

// The text of a status, as "404 Not Found".
std::string_view reason_of(int status);

}  // namespace brood
