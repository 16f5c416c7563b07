#include "supervisor/web/page/router.hpp"

#include <algorithm>
#include <exception>

#include "shared/api/push/client_connection.hpp"
#include "shared/base/log_line.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/redis/connection.hpp"
#include "supervisor/web/page/assets.hpp"
#include "supervisor/web/page/layout.hpp"
#include "supervisor/web/page/site.hpp"

namespace brood {
namespace {

constexpr std::size_t most_bytes_told = 300;  // of the target of an action, in the log
constexpr std::size_t cookie_digits = 32;
constexpr std::string_view scheme = "Basic realm=\"brood\", charset=\"UTF-8\"";

// The visitor's theme; empty for any other value.
std::string theme_in(const HttpRequest& request) {
  const std::string theme = request.cookie("brood_theme").value_or("");
  return theme == "light" || theme == "dark" ? theme : "";
}

// A cookie for this site only, which no script reads.  A link from another site must send it: otherwise the opened page
// would set a new one, which would invalidate the forms of open pages.  A form from another site does not send it.
std::string cookie_header(std::string_view name, std::string_view value) {
  return std::string(name) + "=" + std::string(value) + "; Path=" + Url::base() + "/; HttpOnly; SameSite=Lax";
}

bool is_program(const Route* route) { return route != nullptr && route->is_for_programs(); }

std::string told(const Call& call) {
  if (!call.on.empty()) return std::string(utf8_prefix(call.on, most_bytes_told));
  std::string text;
  for (const auto& [name, value] : call.query.pairs()) text += (text.empty() ? "" : " ") + name + "=" + value;
  return std::string(utf8_prefix(text, most_bytes_told));
}

// A path that ends in "*" matches one name there.
bool is_path_of(const Route& route, std::string_view path) {
  if (!route.path.ends_with("/*")) return route.path == path;
  const std::string_view before = route.path.substr(0, route.path.size() - 1);
  return path.size() > before.size() && path.starts_with(before) && path.find('/', before.size()) == path.npos;
}

}  // namespace

HttpResponse refusal(int status, std::string_view sentence, const Call* call, const Route* route) {
  HttpResponse response{.status = status};
  if (is_program(route)) {
    response.type = "application/json";
    response.body = JsonWriter().text("error", sentence).object() + "\n";
  } else if (call != nullptr) {
    response.type = "text/html; charset=utf-8";
    response.body =
        page_text(*call, {.title = std::string(reason_of(status)), .body = Html("<p class=\"lead\">{}</p>", sentence)});
  } else {
    response.body = log::printable(sentence) + "\n";
  }
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", scheme);
  return response;
}

Lane lane_of(const Route& route, std::string_view query) {
  if (route.lane != Lane::filtered) return route.lane;
  const FormValues values = FormValues::parse(query);
  for (const char* const condition : {"text", "class", "queue", "error"}) {
    if (!values.value(condition).empty()) return Lane::search;
  }
  return Lane::redis;
}

Routed find_route(std::string_view method, std::string_view path) {
  if (method != "GET" && method != "HEAD" && method != "POST") return {nullptr, 405};
  const bool posts = method == "POST";
  bool is_known = false;
  for (const Route& route : routes()) {
    if (!is_path_of(route, path)) continue;
    is_known = true;
    if (posts == route.posts()) return {&route, 200};
  }
  return {nullptr, is_known ? 405 : 404};
}

namespace {

Answered stranger(const Authenticator& authenticator, const HttpRequest& request, const Route& route) {
  Answered answered{refusal(401, "Log in first.", nullptr, &route)};
  if (request.header("authorization")) answered.failed_login = authenticator.name_brought(request);
  return answered;
}

// Throws Refused.
void check_right(const Authenticator& authenticator, const Authenticator::Visitor& visitor, Call& call,
                 const Route& route) {
  if (route.posts()) {
    if (route.kind == Route::Kind::action) call.form = FormValues::parse(call.request.body);
    if (route.kind == Route::Kind::order && !call.request.is_of_type("application/json") &&
        !call.request.is_of_type("application/x-ndjson"))
      throw Refused(415, "The body must be JSON, with Content-Type: application/json.");
    if (!visitor.brings_token) {
      const std::string forged = route.kind == Route::Kind::action ? authenticator.why_forged(call.request, call.form)
                                                                   : authenticator.why_foreign(call.request);
      if (!forged.empty()) throw Refused(403, forged);
    }
  }
  if (call.may(route.role)) return;
  throw Refused(403, authenticator.read_only() ? "This page is read-only."
                                               : "That needs the role " + std::string(name_of(route.role)) + ".");
}

// Lets a Redis that did not answer rest, so that the next request does not wait for it.
HttpResponse handle(const Route& route, Call& call) try {
  return route.handler(call);
} catch (const RedisError& error) {
  if (is_away(error)) call.site.rest(error.what());
  throw;
} catch (const ConnectionLost& error) {
  call.site.rest(error.what());
  throw;
}

}  // namespace

std::optional<Answered> early_refusal(const Authenticator& authenticator, const HttpRequest& request,
                                      const Route& route) try {
  // A page of another site would use that site's host name, which is no number.
  const bool comes_by_number = route.is_for_programs() && Authenticator::is_for_a_number(request);
  if (!comes_by_number && !authenticator.knows_host(request))
    return Answered{refusal(421, "Unknown host name. Add it to hosts in [web] of brood.toml.", nullptr, &route)};
  if (authenticator.brings_password(request)) {
    if (!authenticator.has_guessed_too_often(request)) return std::nullopt;
    HttpResponse later = refusal(429, "Too many wrong passwords. Try again in a minute.", nullptr, &route);
    later.headers.emplace_back("Retry-After", "60");
    return Answered{std::move(later)};
  }
  return authenticator.visitor(request) ? std::nullopt : std::optional(stranger(authenticator, request, route));
} catch (const std::exception& error) {
  return Answered{refusal(500, error.what(), nullptr, &route)};
}

Answered answer(Site& site, const Authenticator& authenticator, const HttpRequest& request, const Route& route) try {
  if (auto refused = early_refusal(authenticator, request, route)) return std::move(*refused);
  const auto visitor = authenticator.visitor(request);
  if (!visitor) return stranger(authenticator, request, route);
  if (request.path.starts_with("/api/")) {
    if (const auto wait = authenticator.wait_of(visitor->user)) {
      HttpResponse later = refusal(429, "Too many requests; see Retry-After.", nullptr, &route);
      later.headers.emplace_back("Retry-After", std::to_string(wait->count()));
      return {std::move(later)};
    }
  }
  Call call{.site = site,
            .request = request,
            .query = FormValues::parse(request.query),
            .form = {},
            .user = visitor->user,
            .role = visitor->role,
            .token = {},
            .theme = theme_in(request)};
  std::string cookie = request.cookie(Authenticator::cookie_name).value_or("");
  const bool is_new = cookie.size() != cookie_digits;
  if (is_new) cookie = authenticator.new_cookie();
  call.token = authenticator.token_of(cookie);
  HttpResponse response;
  try {
    check_right(authenticator, *visitor, call, route);
    response = handle(route, call);
  } catch (const Refused& refused) {
    response = refusal(refused.status(), refused.what(), &call, &route);
  } catch (const std::exception& error) {
    response = refusal(503, error.what(), &call, &route);
  }
  if (is_new && route.kind == Route::Kind::page)
    response.headers.emplace_back("Set-Cookie", cookie_header(Authenticator::cookie_name, cookie));
  if (!route.posts() || !call.changed) return {std::move(response)};
  const std::uint64_t count = response.status < 400 ? *call.changed : 0;
  return {response, Deed{call.user, call.role, route.path, told(call), count, response.status}};
} catch (const std::exception& error) {
  return {refusal(500, error.what(), nullptr, &route)};
}

bool wants_to_follow(const HttpRequest& request, const Route& route) {
  return route.kind == Route::Kind::page && request.method == "GET" &&
         request.header("accept").value_or("").find("text/event-stream") != std::string_view::npos;
}

std::variant<Follower, Answered> admit_follower(const Authenticator& authenticator, const HttpRequest& request,
                                                const Route& route) try {
  if (auto refused = early_refusal(authenticator, request, route)) return std::move(*refused);
  const auto visitor = authenticator.visitor(request);
  if (!visitor) return stranger(authenticator, request, route);
  if (const std::string foreign = authenticator.why_foreign(request); !foreign.empty())
    return Answered{refusal(403, foreign, nullptr, &route)};
  if (visitor->role < route.role) return Answered{refusal(403, reason_of(403), nullptr, &route)};
  // A page has set a cookie.  Without a cookie there is no token, and the forms are the page's own.
  const std::string cookie = request.cookie(Authenticator::cookie_name).value_or("");
  return Follower{visitor->role, cookie.size() == cookie_digits ? authenticator.token_of(cookie) : ""};
} catch (const std::exception& error) {
  return Answered{refusal(500, error.what(), nullptr, &route)};
}

HttpResponse followed_page(Site& site, const Route& route, const HttpRequest& request, Role role) try {
  Call call{.site = site,
            .request = request,
            .query = FormValues::parse(request.query),
            .form = {},
            .user = {},
            .role = role,
            .token = {},
            .theme = {},
            .is_followed = true};
  return handle(route, call);
} catch (const Refused& refused) {
  return {.status = refused.status()};
} catch (const std::exception&) {
  return {.status = 503};
}

}  // namespace brood
