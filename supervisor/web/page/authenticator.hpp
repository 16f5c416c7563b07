#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "supervisor/web/http/http_message.hpp"
#include "supervisor/web/page/request_rate.hpp"
#include "supervisor/web/page/role.hpp"
#include "supervisor/web/page/users.hpp"

namespace brood {

// Counts wrong passwords per minute.  After too many for one name, or in total, refuses to check any until the minute
// is over.  Thread-safe.
class FailedGuesses {
 public:
  static constexpr int most_of_name = 10, most_in_all = 100;

  void note(const std::string& name, SteadyTime now);
  bool are_too_many(const std::string& name, SteadyTime now) const;

 private:
  bool is_over(SteadyTime now) const;

  mutable std::mutex mutex_;
  SteadyTime begun_{};
  int in_all_ = 0;
  std::map<std::string, int> of_name_;  // at most as many names as guesses
};

// Decides who may use the page, and rejects requests that another site made a browser send (CSRF).  Thread-safe.
class Authenticator {
 public:
  struct Settings {
    std::vector<std::string> hosts;  // names in requests that are ours, as "localhost:7433" or without a port
    bool checks_hosts = true;
    Users users = {};                      // none: every client that reaches the socket may do everything
    std::string user_header = {};          // the header in which a proxy names the user; empty: none does
    std::optional<uid_t> proxy_user = {};  // only this user's processes are trusted as that proxy
    bool read_only = false;
    int api_rate = 0;  // API requests a second of each user; 0: any number
  };
  explicit Authenticator(Settings settings);

  // Whether the request names one of our hosts.  Another site may let its own name resolve to our address.
  bool knows_host(const HttpRequest& request) const;

  // Whether the request names a numeric address, as probes of Kubernetes do: the client has connected to that very
  // address.
  static bool is_for_a_number(const HttpRequest& request);

  struct Visitor {
    std::string user;
    Role role = Role::read;
    bool brings_token = false;  // in a header that no browser adds by itself
  };
  // Returns nullopt if the user is unknown.
  std::optional<Visitor> visitor(const HttpRequest& request) const;
  bool asks_for_names() const { return !users()->empty(); }
  // Whether a password must be hashed to identify the user, which is slow.
  bool brings_password(const HttpRequest& request) const;
  // Whether passwords are refused unchecked for now, because too many were wrong.  A password that was right recently
  // is still accepted.
  bool has_guessed_too_often(const HttpRequest& request) const;
  // The user name that came with a password; "-" if there is none.
  std::string name_brought(const HttpRequest& request) const;

  // Replaces the list of users.
  void replace_users(Users users);
  bool read_only() const { return settings_.read_only; }

  // The browser's cookie, and the token that its forms then carry.
  static constexpr std::string_view cookie_name = "brood_visit";
  std::string new_cookie() const;
  std::string token_of(std::string_view cookie) const;

  // Empty if the form was filled in on one of our pages; else a sentence that explains why not.
  std::string why_forged(const HttpRequest& request, const FormValues& form) const;
  // The same for requests of programs, which have no form: empty unless another site made a browser send it.
  std::string why_foreign(const HttpRequest& request) const;

  // How long this user must wait before the API answers again; nullopt if the request may proceed, which counts it.
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
