#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "supervisor/web/http/http_message.hpp"
#include "supervisor/web/page/authenticator.hpp"
#include "supervisor/web/page/call.hpp"
#include "supervisor/web/page/role.hpp"

namespace brood {

// The thread that answers a request.
enum class Lane {
  machine,  // asks no Redis, so that a slow Redis does not delay it
  redis,
  search,  // may look through a whole Redis: only other searches wait for it
  // Probes of machines, each with a thread of its own: no page and no filter delays them.
  readiness,
  metrics,
  filtered,  // search if the query has a filter, else redis
};

// An entry of the only table: a handler is reached only through it, and none of these members may be left out.
struct Route {
  enum class Kind {
    page,    // GET, for people: an error is a page too
    answer,  // GET, for programs
    action,  // POST of a form
    order,   // POST of JSON, for programs
  };
  Kind kind;
  std::string_view path;  // in "/api/v1/batches/*" the * stands for one name
  Role role;
  Lane lane;
  HttpResponse (*handler)(Call&);
  std::string_view title;  // in the navigation; empty: not there

  consteval Route(Kind kind_, std::string_view path_, Role role_, Lane lane_, HttpResponse (*handler_)(Call&),
                  std::string_view title_)
      : kind(kind_), path(path_), role(role_), lane(lane_), handler(handler_), title(title_) {
    if (path.empty() || path.front() != '/') throw "a path begins with /";
    if (posts() && role == Role::read) throw "an action needs more than the right to look";
  }

  constexpr bool posts() const { return kind == Kind::action || kind == Kind::order; }
  constexpr bool is_for_programs() const { return kind == Kind::answer || kind == Kind::order; }
};

// All routes, in the order of the navigation; from views/routes.def.
std::span<const Route> routes();

// The result of routing: a route, or the status of the refusal.
struct Routed {
  const Route* route = nullptr;
  int status = 200;
};
Routed find_route(std::string_view method, std::string_view path);

// The lane of a request for this route; never Lane::filtered.
Lane lane_of(const Route& route, std::string_view query);

// A change and its user, for the log.
struct Deed {
  std::string user;
  Role role;
  std::string_view action;  // the route's path
  std::string on;           // its target, from the request
  std::uint64_t count = 0;  // of the changed things
  int status = 0;           // of the answer
};
struct Answered {
  HttpResponse response;
  std::optional<Deed> deed = {};
  std::optional<std::string> failed_login = {};  // the name in the refused credentials
};

// A refusal that needs neither hashing nor a handler, for an unknown host name or user; nullopt if there is none.
// Never throws.
std::optional<Answered> early_refusal(const Authenticator& authenticator, const HttpRequest& request,
                                      const Route& route);

// Authenticates a request, passes it to its route, and returns the answer.  Never throws.
Answered answer(Site& site, const Authenticator& authenticator, const HttpRequest& request, const Route& route);

// Whether the page's script asks to follow it.
bool wants_to_follow(const HttpRequest& request, const Route& route);
// The user who follows the page at `route`, with the token for its forms; or the refusal.  Never throws.
struct Follower {
  Role role;
  std::string token;
};
std::variant<Follower, Answered> admit_follower(const Authenticator& authenticator, const HttpRequest& request,
                                                const Route& route);
// The content of its <main> for all users with that role, or a refusal.  Never throws.
HttpResponse followed_page(Site& site, const Route& route, const HttpRequest& request, Role role);

// The response of a refusal for `route`; `route` is null for an unknown path.
HttpResponse refusal(int status, std::string_view sentence, const Call* call, const Route* route);

}  // namespace brood
