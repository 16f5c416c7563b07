#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/cli/access/api_access.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

constexpr const char* mark_footer =
    R"(Sidekiq's Web UI draws it into its metrics.  The default LABEL is the last commit of the working directory, as in
Sidekiq.  There is at most one mark a minute with one label.)";

// Empty if there is no git, or no repository.
std::string last_commit() {
  const std::unique_ptr<FILE, int (*)(FILE*)> git(popen("git log -1 --format='%h %s' 2>/dev/null", "r"), pclose);
  if (!git) return "";
  std::array<char, 1024> line{};
  if (fgets(line.data(), line.size(), git.get()) == nullptr) return "";
  const std::string text = line.data();
  return text.substr(0, text.find('\n'));
}

}  // namespace

int mark_command(const std::vector<std::string>& args) {
  RedisAccess redis;
  bool json = false;
  CommandLine line("Marks a deploy: brood mark [LABEL] [OPTIONS]", "brood mark");
  line.flag("--json", json, "Answer in JSON, for programs");
  redis.add_options(line);
  line.footer(mark_footer);
  const std::vector<std::string> words = line.parse(args);
  if (words.size() > 1) refuse_arguments({words[1]});
  const std::string label = words.empty() ? last_commit() : words[0];
  if (label.empty()) throw UsageError("there is no commit here for the default: give a LABEL");

  const bool is_new = open_api(redis).mark_deploy(label);
  if (json)
    print_json(JsonWriter().text("label", label).truth("marked", is_new).object() + "\n");
  else
    print(fmt::format("{}: {}\n", is_new ? "marked" : "was marked already", log::printable(label)));
  return exit_status::ok;
}

}  // namespace brood
