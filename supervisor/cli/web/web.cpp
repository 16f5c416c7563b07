#include "supervisor/cli/web/web.hpp"

#include <sys/signalfd.h>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/process_title.hpp"
#include "shared/config/credential.hpp"
#include "shared/config/listen_address.hpp"
#include "supervisor/cli/command_line.hpp"
#include "supervisor/cli/web/confinement.hpp"
#include "supervisor/cli/web/http/http_server.hpp"
#include "supervisor/cli/web/listener.hpp"
#include "supervisor/cli/web/page/assets.hpp"
#include "supervisor/cli/web/page/doors.hpp"
#include "supervisor/cli/web/page/html.hpp"
#include "supervisor/cli/web/page/lane_thread.hpp"
#include "supervisor/cli/web/page/router.hpp"
#include "supervisor/cli/web/page/site.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {
namespace {

constexpr std::size_t most_waiting = 128;  // requests of each lane

// Whatever the operator named, and what a browser of this machine says.
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

Doors doors_of(const WebSettings& settings, const ListenAddress& address) {
  return Doors({.hosts = hosts_of(settings, address),
                .checks_hosts = true,
                .users = settings.users.empty() ? Users() : Users::read(credential_path(settings.users)),
                .user_header = settings.user_header,
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

// What all requests of one kind go through, one after the other.
struct PageLane {
  PageLane(EventLoop& loop, const RedisAccess& access, const WebSettings& settings)
      : site(access, settings), thread(loop, most_waiting) {}
  Site site;
  LaneThread thread;  // destroyed first: it uses the site
};

// The page of a program that has just been replaced may need a moment to end.
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

// A proxy may take the base away, or leave it.
std::string path_below(const std::string& base, std::string path) {
  if (base.empty() || !path.starts_with(base)) return path;
  if (path.size() == base.size()) return "/";
  return path[base.size()] == '/' ? path.substr(base.size()) : path;
}

// Health is asked by machines that know no names: it lets in whoever reaches the socket, and tells nothing else.
bool is_open(const Route& route) { return route.path == "/healthz"; }

}  // namespace

int serve_pages(const RedisAccess& access, const WebSettings& settings, bool is_supervised) {
  const ListenAddress address = ListenAddress::parse(settings.listen);
  if (!address.is_local() && settings.users.empty())
    throw UsageError(address.text() + " can be reached from other machines: users in [web] must say who may come");
  const Doors doors = doors_of(settings, address);
  const Doors open_doors({.hosts = {}, .checks_hosts = false, .read_only = true});
  const auto mode = static_cast<mode_t>(std::stoi(settings.mode, nullptr, 8));
  UniqueFd listener = is_supervised ? listen_after_predecessor(address, mode) : listen_for_pages(address, mode);

  EventLoop loop;
  bool ends = false;
  const SignalSource signals(
      loop, [&](const signalfd_siginfo& signal) { ends |= signal.ssi_signo == SIGTERM || signal.ssi_signo == SIGINT; });
  std::unique_ptr<FdWatch> lifeline;
  if (is_supervised)
    lifeline = std::make_unique<FdWatch>(loop, STDIN_FILENO, FdWatch::readable, [&](int) { ends = true; });
  PageLane machine(loop, access, settings), redis(loop, access, settings), search(loop, access, settings);
  Url::base() = settings.base_path;
  const HttpServer server(loop, std::move(listener), [&](HttpRequest request, HttpServer::Reply reply) {
    request.path = path_below(settings.base_path, std::move(request.path));
    if (auto asset = request.method == "POST" ? std::nullopt : find_asset(request.path)) return reply(*asset);
    const Routed routed = find_route(request.method, request.path);
    if (routed.route == nullptr) return reply(refusal(routed.status, reason_of(routed.status), nullptr, nullptr));
    const Route& route = *routed.route;
    PageLane& lane = route.lane == Lane::machine ? machine : route.lane == Lane::redis ? redis : search;
    const Doors& its_doors = is_open(route) ? open_doors : doors;
    const auto answered = std::make_shared<Answered>();
    const bool taken = lane.thread.add(
        {.work = [answered, &lane, &its_doors, &route,
                  request = std::move(request)] { *answered = answer(lane.site, its_doors, request, route); },
         .done =
             [answered, reply] {
               if (answered->deed) note_deed(*answered->deed);
               reply(answered->response);
             }});
    if (!taken) reply(refusal(503, "Too many requests wait already.", nullptr, &route));
  });
  const bool is_confined = confine_page();
  log::info("web_listens", {{"address", address.text()},
                            {"users", settings.users.empty() ? "all that reach it" : settings.users},
                            {"read_only", settings.read_only},
                            {"confined", is_confined}});
  while (!ends) {
    loop.run_once();
    log::flush();
  }
  log::info("web_stopped");
  return exit_status::ok;
}

}  // namespace brood
