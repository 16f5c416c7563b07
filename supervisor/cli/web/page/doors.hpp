#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/cli/web/http/http_message.hpp"
#include "supervisor/cli/web/page/request_rate.hpp"
#include "supervisor/cli/web/page/role.hpp"
#include "supervisor/cli/web/page/users.hpp"

namespace brood {

// Who is let in, and which of what they bring is their own doing.  Used by several threads.
class Doors {
 public:
  struct Settings {
    std::vector<std::string> hosts;  // that a request may be for, as "localhost:7433" or without a port
    bool checks_hosts = true;
    Users users = {};              // none: whoever reaches the socket may do everything
    std::string user_header = {};  // in which a proxy says who it is; empty: none does
    bool read_only = false;
    int api_rate = 0;  // requests a second of each user to the API; 0: any number
  };
  explicit Doors(Settings settings);

  // Whether the name by which a request came is one of ours: a page of another site may let its own name point here.
  bool knows_host(const HttpRequest& request) const;

  struct Visitor {
    std::string user;
    Role role = Role::read;
    bool brings_token = false;  // by a header that no browser adds by itself
  };
  // Nullopt: nobody that we know.
  std::optional<Visitor> visitor(const HttpRequest& request) const;
  bool asks_for_names() const { return !settings_.users.empty(); }
  bool read_only() const { return settings_.read_only; }

  // The cookie that a browser is given, and the token that its forms then carry.
  static constexpr std::string_view cookie_name = "brood_visit";
  std::string new_cookie() const;
  std::string token_of(std::string_view cookie) const;

  // Empty: the form was filled in on a page of ours.  Else why not, in a sentence.
  std::string why_forged(const HttpRequest& request, const FormValues& form) const;
  // Empty: no page of another site has made a browser send it.  Of what only programs send, which bring no form.
  std::string why_foreign(const HttpRequest& request) const;

  // How long this user has to wait before the API answers again; nullopt: not at all, and this request counts.
  std::optional<std::chrono::seconds> wait_of(const std::string& user) const;

 private:
  bool is_own_origin(std::string_view origin, const HttpRequest& request) const;

  const Settings settings_;
  const std::string key_;
  mutable RequestRate rate_;
};

}  // namespace brood
