#include "supervisor/web/web.hpp"

#include <malloc.h>
#include <pwd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "shared/base/paths.hpp"
#include "shared/base/process_title.hpp"
#include "shared/config/http_endpoint.hpp"
#include "shared/config/password_files.hpp"
#include "shared/json/json.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/web/confinement.hpp"
#include "supervisor/web/http/compression.hpp"
#include "supervisor/web/http/http_server.hpp"
#include "supervisor/web/listener.hpp"
#include "supervisor/web/page/assets.hpp"
#include "supervisor/web/page/authenticator.hpp"
#include "supervisor/web/page/followed_views.hpp"
#include "supervisor/web/page/html.hpp"
#include "supervisor/web/page/lane_thread.hpp"
#include "supervisor/web/page/router.hpp"
#include "supervisor/web/page/site.hpp"
#include "supervisor/web/page/users.hpp"

namespace brood {
namespace {

// The most requests waiting in each lane.  All lanes together hold fewer than there are clients, so one more client is
// always accepted.
constexpr std::size_t most_waiting = 12, most_probes_waiting = 4;
constexpr std::size_t large_answer = 1 << 20;  // then memory is given back

// The configured names, and those for a browser on this machine.
std::vector<std::string> hosts_of(const WebSettings& settings, const ListenAddress& address) {
  std::vector<std::string> hosts;
  for (std::string host : settings.hosts) {
    for (char& c : host) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    hosts.push_back(std::move(host));
  }
  if (address.is_local()) hosts.insert(hosts.end(), {"localhost", "127.0.0.1", "[::1]"});
  if (!address.is_unix())
    hosts.push_back(address.host.find(':') == address.host.npos ? address.host : "[" + address.host + "]");
  return hosts;
}

std::optional<uid_t> user_named(const std::string& name) {
  uid_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc{} && end == name.data() + name.size()) return number;
  const passwd* const found = getpwnam(name.c_str());  // no other thread runs yet
  return found == nullptr ? std::nullopt : std::optional(found->pw_uid);
}

// Throws UsageError.
std::optional<uid_t> user_of_proxy(const WebSettings& settings, const ListenAddress& address) {
  if (settings.user_header.empty()) return std::nullopt;
  if (!address.is_unix())
    throw UsageError("user_header in [web] needs a Unix socket, where the kernel says who sends it: " + address.text() +
                     " is none");
  const std::optional<uid_t> user = user_named(settings.proxy_user);
  if (!user) throw UsageError("proxy_user in [web]: there is no user " + settings.proxy_user);
  if (*user == geteuid())
    throw UsageError("proxy_user in [web] is the user of the page and all jobs: each job could pretend to be any user");
  return user;
}

Authenticator authenticator_of(const WebSettings& settings, const ListenAddress& address) {
  const std::optional<uid_t> proxy = user_of_proxy(settings, address);
  return Authenticator({.hosts = hosts_of(settings, address),
                        .checks_hosts = true,
                        .users = settings.users.empty() ? Users() : Users::read(credential_path(settings.users)),
                        .user_header = settings.user_header,
                        .proxy_user = proxy,
                        .read_only = settings.read_only,
                        .api_rate = settings.api_rate});
}

void note_deed(const Deed& deed) {
  log::info("web_action", {{"user", deed.user.empty() ? "-" : deed.user},
                           {"role", name_of(deed.role)},
                           {"action", deed.action},
                           {"on", deed.on},
                           {"count", deed.count},
                           {"status", deed.status}});
}

// Logs refused names, at most a line a second.
class FailedLogins {
 public:
  void note(const std::string& name) {
    ++unsaid_;
    const SteadyTime now = steady_now();
    if (said_ && now - *said_ < std::chrono::seconds(1)) return;
    log::warn("web_login_failed", {{"user", utf8_prefix(name, 100)}, {"count", unsaid_}});
    said_ = now;
    unsaid_ = 0;
  }

 private:
  std::optional<SteadyTime> said_;
  std::int64_t unsaid_ = 0;
};

// The lane for all requests of one kind, one after the other.
struct PageLane {
  PageLane(EventLoop& loop, const RedisAccess& access, const WebSettings& settings, std::size_t most = most_waiting)
      : site(access, settings), thread(loop, most) {}
  Site site;
  LaneThread thread;  // destroyed first: it uses the site
};

// A page that was just replaced may need a moment to end.
UniqueFd listen_after_predecessor(const ListenAddress& address, mode_t mode) {
  using namespace std::chrono_literals;
  for (int tries = 0;; ++tries) {
    try {
      return listen_for_pages(address, mode);
    } catch (const std::runtime_error&) {
      if (tries == 20) throw;
      std::this_thread::sleep_for(100ms);
    }
  }
}

// A proxy may remove the base from the path, or keep it.
std::string path_below(const std::string& base, std::string path) {
  if (base.empty() || !path.starts_with(base)) return path;
  if (path.size() == base.size()) return "/";
  return path[base.size()] == '/' ? path.substr(base.size()) : path;
}

// Identifies the present file.
std::optional<ino_t> inode_of(const std::string& path) {
  struct stat there {};
  return lstat(path.c_str(), &there) == 0 ? std::optional(there.st_ino) : std::nullopt;
}

// Returns whether the users have changed.
bool follow_users(const WebSettings& settings, UsersFile& file, Authenticator& authenticator) {
  if (settings.users.empty()) return false;
  try {
    auto users = file.read_if_changed();
    if (!users) return false;
    authenticator.replace_users(std::move(*users));
    return true;
  } catch (const std::exception& error) {
    log::error("web_users_not_read", {{"reason", error.what()}});  // the previous users may still log in
    return false;
  }
}

std::shared_ptr<const std::string> event_of(const HttpResponse& made) {
  return std::make_shared<const std::string>(made.status == 200 ? event_text("page", made.body)
                                                                : event_text("trouble", std::to_string(made.status)));
}

HttpResponse too_many_follow() {
  HttpResponse response = refusal(503, "Too many live pages; load this one again to update it.", nullptr, nullptr);
  response.headers.emplace_back("Retry-After", "60");
  return response;
}

// Probes without a login may ask for the health: it reveals nothing else.
bool is_open(const Route& route) { return route.path == "/healthz"; }

// Warns if processes that may change the file of users could add themselves.  A page that a supervisor serves runs as
// the jobs' user.
void look_who_may_change_users(const WebSettings& settings, bool is_supervised) {
  if (settings.users.empty() || geteuid() == 0) return;
  const std::string changeable = changeable_part_of(credential_path(settings.users), geteuid());
  if (changeable.empty()) return;
  if (is_supervised)
    throw UsageError(changeable + " can be changed by the user of the page and all jobs, so a job " +
                     "could let itself in by users in [web]: give it to root");
  log::warn("web_users_are_changeable", {{"path", changeable}, {"hint", "each job of this user could let itself in"}});
}

}  // namespace

int serve_pages(const RedisAccess& access, const WebSettings& settings, bool is_supervised) {
  const ListenAddress address = ListenAddress::parse(settings.listen);
  if (!address.is_local() && settings.users.empty())
    throw UsageError(address.text() + " can be reached from other machines: set users in [web]");
  // All threads share one arena, and the memory of large answers is given back.
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TRIM_THRESHOLD, large_answer);
  look_who_may_change_users(settings, is_supervised);
  Authenticator authenticator = authenticator_of(settings, address);
  UsersFile users(settings.users.empty() ? "" : credential_path(settings.users));
  const Authenticator open_to_all({.hosts = {}, .checks_hosts = false, .read_only = true});
  const auto mode = static_cast<mode_t>(std::stoi(settings.mode, nullptr, 8));
  UniqueFd listener = is_supervised ? listen_after_predecessor(address, mode) : listen_for_pages(address, mode);

  const auto own_socket = address.is_unix() ? inode_of(address.path) : std::nullopt;

  EventLoop loop;
  bool ends = false;
  const SignalSource signals(
      loop, [&](const signalfd_siginfo& signal) { ends |= signal.ssi_signo == SIGTERM || signal.ssi_signo == SIGINT; });
  std::unique_ptr<FdWatch> lifeline;
  if (is_supervised)
    lifeline = std::make_unique<FdWatch>(loop, STDIN_FILENO, FdWatch::readable, [&](int) { ends = true; });
  PageLane machine(loop, access, settings), redis(loop, access, settings), search(loop, access, settings),
      open(loop, access, settings), readiness(loop, access, settings, most_probes_waiting),
      metrics(loop, access, settings, most_probes_waiting);
  FailedLogins failed_logins;
  Url::base() = settings.base_path;
  const auto page_lane_of = [&](const Route& route, std::string_view query) -> PageLane& {
    if (is_open(route)) return open;
    switch (lane_of(route, query)) {
      case Lane::machine:
        return machine;
      case Lane::redis:
        return redis;
      case Lane::search:
        return search;
      case Lane::readiness:
        return readiness;
      case Lane::metrics:
      case Lane::filtered:
        break;
    }
    return metrics;
  };
  FollowedViews* followed = nullptr;
  const auto look_who_may_come = [&] {
    if (follow_users(settings, users, authenticator)) followed->end_all();
  };
  FollowedViews views(loop, [&](const FollowedViews::View& view, FollowedViews::Made made) {
    look_who_may_come();
    PageLane& lane = page_lane_of(*view.route, view.query);
    const auto event = std::make_shared<std::shared_ptr<const std::string>>();
    auto work = [&lane, event, view] {
      HttpRequest request;
      request.method = "GET";
      request.path = view.route->path;
      request.query = view.query;
      *event = event_of(followed_page(lane.site, *view.route, request, view.role));
    };
    return lane.thread.add({std::move(work), [event, made = std::move(made)] { made(std::move(*event)); }});
  });
  followed = &views;
  const HttpServer server(loop, std::move(listener), [&](HttpRequest request, HttpServer::Reply reply) {
    request.path = path_below(settings.base_path, std::move(request.path));
    if (auto asset = request.method == "POST" ? std::nullopt : find_asset(request.path))
      return reply(compressed_for(request, std::move(*asset)));
    const Routed routed = find_route(request.method, request.path);
    if (routed.route == nullptr) return reply(refusal(routed.status, reason_of(routed.status), nullptr, nullptr));
    const Route& route = *routed.route;
    look_who_may_come();
    const Authenticator& guard = is_open(route) ? open_to_all : authenticator;
    const auto tell = [&failed_logins, reply](const Answered& told) {
      if (told.deed) note_deed(*told.deed);
      if (told.failed_login) failed_logins.note(*told.failed_login);
      reply(told.response);
    };
    if (const auto refused = early_refusal(guard, request, route)) return tell(*refused);
    const auto refuse = [&] { reply(refusal(503, "Too many requests wait already.", nullptr, &route)); };
    if (wants_to_follow(request, route)) {
      if (!views.has_room()) return reply(too_many_follow());
      // Hashing the password takes time, so it is done in a thread; the page itself is made later.
      const auto admitted = std::make_shared<std::variant<Follower, Answered>>();
      FollowedViews::View view{&route, lasting_query(request.query), Role::read};
      auto work = [admitted, &guard, &route, request = std::move(request)] {
        *admitted = admit_follower(guard, request, route);
      };
      auto done = [admitted, tell, reply, view, &views]() mutable {
        if (const auto* const refused = std::get_if<Answered>(admitted.get())) return tell(*refused);
        const auto& follower = std::get<Follower>(*admitted);
        view.role = follower.role;
        if (!views.add(view, follower.token, reply)) reply(too_many_follow());
      };
      if (!machine.thread.add({std::move(work), std::move(done)})) refuse();
      return;
    }
    PageLane& lane = page_lane_of(route, request.query);
    const auto answered = std::make_shared<Answered>();
    auto work = [answered, reply, &lane, &guard, &route, request = std::move(request)] {
      if (reply.is_gone()) return;  // do not work for a client that has gone
      *answered = answer(lane.site, guard, request, route);
      answered->response = compressed_for(request, std::move(answered->response));
    };
    auto done = [answered, tell] {
      tell(*answered);
      if (answered->response.body.size() < large_answer) return;
      answered->response.body = {};
      malloc_trim(0);
    };
    if (!lane.thread.add({std::move(work), std::move(done)})) refuse();
  });
  const bool is_confined = confine_page();
  log::info("web_listens", {{"address", address.text()},
                            {"users", settings.users.empty() ? "everyone who reaches it" : settings.users},
                            {"read_only", settings.read_only},
                            {"confined", is_confined}});
  while (!ends) {
    loop.run_once();
    log::flush();
  }
  if (own_socket && inode_of(address.path) == own_socket) unlink(address.path.c_str());
  log::info("web_stopped");
  return exit_status::ok;
}

}  // namespace brood
