#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "supervisor/web/http/http_message.hpp"
#include "supervisor/web/page/role.hpp"

namespace brood {

class Site;

// A request that has passed the authenticator, with its user.
struct Call {
  Site& site;
  const HttpRequest& request;
  FormValues query, form;  // of the address, and of the body
  std::string user;        // empty if no login is needed
  Role role = Role::read;
  std::string token;  // for the forms of the answer
  std::string theme;  // "light", "dark", or empty: the browser's
  // Whether only the content of <main> is wanted, for all followers with these rights: its forms then have no token.
  bool is_followed = false;

  // For an action: how many things it has changed, nullopt if it has only asked; `on` names them if the address does
  // not.
  std::optional<std::uint64_t> changed = 1;
  std::string on = {};

  bool may(Role wanted) const { return role >= wanted; }
};

using Handler = std::function<HttpResponse(Call&)>;

// Thrown by handlers if something is missing, impossible or not understood; the page then shows the sentence.
class Refused : public std::exception {
 public:
  Refused(int status, std::string sentence) : status_(status), sentence_(std::move(sentence)) {}
  int status() const { return status_; }
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  int status_;
  std::string sentence_;
};

}  // namespace brood
