#include <string>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/base/log_line.hpp"
#include "shared/config/http_endpoint.hpp"
#include "supervisor/cli/access/options_for_people.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/program.hpp"
#include "supervisor/web/crash_logger.hpp"
#include "supervisor/web/web.hpp"

namespace brood {
namespace {

constexpr const char* usual_address = "127.0.0.1:7433";

constexpr const char* footer =
    R"(Serves a page for browsers, /metrics for Prometheus, /healthz and /readyz for load balancers, and /api/v1 for programs.
A supervisor with [web] listen in its configuration starts it by itself.  Users and their rights are configured in
[web] too: see brood.toml(5).

Exit status: 0; 70 it cannot listen there; 78 the configuration cannot be used.)";

int web_command(const std::vector<std::string>& args) {
  RedisAccess access;
  std::string listen, supervised;
  bool read_only = false;
  CommandLine line("Serves a page that shows all of brood, until a signal stops it.", "brood web");
  line.option("--listen", listen, "ADDRESS",
              "unix:/path, or an address and a port (default: that of [web], else 127.0.0.1:7433)");
  line.flag("--read-only", read_only, "Refuse all changes");
  access.add_options(line);
  line.hidden("--supervised", supervised);
  line.hidden("--for-people", access.for_people);
  line.footer(footer);
  refuse_arguments(line.parse(args));
  if (supervised.empty()) access.for_people = options_for_people(access.config, {}, access.url);
  const Config config = access.configuration();
  WebSettings settings = config.web;
  if (!listen.empty()) settings.listen = listen;
  if (settings.listen.empty()) settings.listen = usual_address;
  settings.read_only |= read_only;
  try {
    ListenAddress::parse(settings.listen);
  } catch (const std::invalid_argument& error) {
    throw UsageError("--listen " + std::string(error.what()));
  }
  log::Options options = config.log;
  options.journald = options.file.empty() && log::standard_error_is_the_journal();
  options.colour = options.file.empty() && log::standard_error_takes_colour();
  log::open(options);
  log_crashes_of_page(options);
  return serve_pages(access, settings, !supervised.empty());
}

}  // namespace
}  // namespace brood

int main(int argc, char** argv) { return brood::companion_main(argc, argv, "web", brood::web_command); }
