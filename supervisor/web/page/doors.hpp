#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/web/http/http_message.hpp"
#include "supervisor/web/page/failed_guesses.hpp"
#include "supervisor/web/page/request_rate.hpp"
#include "supervisor/web/page/role.hpp"
#include "supervisor/web/page/users.hpp"

namespace brood {

// Who is let in, and which of what they bring is their own doing.  Used by several threads.
class Doors {
 public:
  struct Settings {
    std::vector<std::string> hosts;  // that a request may be for, as "localhost:7433" or without a port
    bool checks_hosts = true;
    Users users = {};                      // none: whoever reaches the socket may do everything
    std::string user_header = {};          // in which a proxy says who it is; empty: none does
    std::optional<uid_t> proxy_user = {};  // whose process alone is believed to be that proxy
    bool read_only = false;
    int api_rate = 0;  // requests a second of each user to the API; 0: any number
  };
  explicit Doors(Settings settings);

  // Whether the name by which a request came is one of ours: a page of another site may let its own name point here.
  bool knows_host(const HttpRequest& request) const;

  // Whether it came by a numeric address, as probes of Kubernetes do: that is what the client has connected to.
  static bool is_for_a_number(const HttpRequest& request);

  struct Visitor {
    std::string user;
    Role role = Role::read;
    bool brings_token = false;  // by a header that no browser adds by itself
  };
  // Nullopt: nobody that we know.
  std::optional<Visitor> visitor(const HttpRequest& request) const;
  bool asks_for_names() const { return !users()->empty(); }
  // Whether it takes a hash to know who that is.
  bool brings_password(const HttpRequest& request) const;
  // Whether no password is looked at now, since too many were wrong; one that was right lately always is.
  bool has_guessed_too_often(const HttpRequest& request) const;
  // The name that came with a password; "-": none did.
  std::string name_brought(const HttpRequest& request) const;

  // Who may come from now on.
  void replace_users(Users users);
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

  std::shared_ptr<const Users> users() const;

  const Settings settings_;
  const std::string key_;
  mutable RequestRate rate_;
  mutable FailedGuesses guesses_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Users> users_;
};

}  // namespace brood
