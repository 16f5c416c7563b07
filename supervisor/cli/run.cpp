#include "supervisor/cli/run.hpp"

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "shared/base/identity.hpp"
#include "shared/base/log.hpp"
#include "shared/base/paths.hpp"
#include "shared/base/process_title.hpp"
#include "shared/config/executable.hpp"
#include "shared/config/hold_files.hpp"
#include "shared/config/password_files.hpp"
#include "shared/config/reading/load_config.hpp"
#include "shared/config/reading/periodic_zones.hpp"
#include "shared/config/redis_location.hpp"
#include "shared/config/shard_places.hpp"
#include "shared/store/gem_lock.hpp"
#include "supervisor/cli/run/certificates.hpp"
#include "supervisor/cli/run/check_configuration.hpp"
#include "supervisor/cli/run/check_libraries.hpp"
#include "supervisor/cli/run/descriptors.hpp"
#include "supervisor/cli/run/inherited.hpp"
#include "supervisor/cli/run/private_directory.hpp"
#include "supervisor/cli/run/run_log.hpp"
#include "supervisor/cli/run/shield_from_jobs.hpp"
#include "supervisor/cli/run/takeover.hpp"
#include "supervisor/cli/run/worker_program.hpp"
#include "supervisor/cli/supervised_page.hpp"
#include "supervisor/process/own_words.hpp"
#include "supervisor/supervisor.hpp"
#include "supervisor/upgrade/handover_file.hpp"
#include "supervisor/upgrade/successor.hpp"
#include "supervisor/upgrade/way_back.hpp"

namespace brood {
namespace {

// Checks a configuration without Redis and without a library.  Throws ConfigError.
void check_alone(Config& config) {
  check_zones(config.periodic);
  read_credentials(config);
}

// Throws ConfigError if a program, such as one of a job, cannot be executed now.
void require_all_programs(const Config& config) {
  require_programs(config);
  if (!uses_embedded_redis(config.redis)) return;
  if (const std::string why = EmbeddedRedis::why_none(embedded_socket_path()); !why.empty()) throw ConfigError(why);
}

// A program that takes over uses the configuration of the rehearsal, even if the file has changed; a program that comes
// back uses its former configuration.
Config first_config(const RunOptions& options, const std::optional<Handover>& handover) {
  if (!handover) return load_config(options.config_path, options.overrides);
  const auto& text = options.failed.empty() ? handover->config : handover->former_config;
  Config config = text ? load_config(options.config_path, ConfigFile{text->text, static_cast<mode_t>(text->mode)},
                                     options.overrides)
                       : load_config(options.config_path, options.overrides);
  config.redis = with_empty_places(handover->empty_places(), std::move(config.redis));
  return config;
}

void warn_of(const Config& config) {
  for (const std::string& warning : config.warnings) log::warn("configuration", {{"warning", warning}});
  if (config.require.empty() && config.commands.empty())
    log::warn("no_job_library", {{"hint", "name one with -r; every job will fail as an unknown class"}});
}

void name_process(const Config& config) {
  set_process_title("brood: supervisor" + (config.tag.empty() ? "" : " " + config.tag));
}

Identity own_identity(const std::optional<Handover>& handover, const std::string& runtime) {
  Identity identity = handover ? handover->identity : Identity::of_this_process();
  identity.runtime_directory = std::filesystem::absolute(runtime);
  return identity;
}

std::string whole_path(const std::string& file) {
  std::error_code refused;
  return file.empty() ? "" : std::filesystem::absolute(file, refused).string();
}

std::unique_ptr<EmbeddedRedis> embedded_redis(const RedisSettings& redis) {
  if (!uses_embedded_redis(redis)) return nullptr;
  return std::make_unique<EmbeddedRedis>(state_directory(), embedded_socket_path(), redis.appendfsync);
}

// Makes everything that the supervisor needs, and answers its later questions.
int supervise(const RunOptions& options, Config config, OwnConnections connections, std::vector<RedisAddress> shards,
              std::optional<Handover> handover) {
  Successor successor(own_words(), handover ? handover->program : "");
  const bool came_back = !options.failed.empty();
  const PageProgram page(came_back && handover ? handover->page : std::nullopt);
  successor.keep_page(page.entry());

  mend_inherited();
  RunLog log(config);
  handover ? log.open_or_inherit(handover->log) : log.open();
  if (came_back) log::error("upgrade_ended", {{"outcome", "refused"}, {"reason", options.failed}});
  shield_from_jobs(config);
  warn_of(config);
  warn_of_inherited();
  if (geteuid() == 0)
    log::warn("running_as_root", {{"hint", "jobs run with all rights; a user of their own is safer"}});

  const std::string runtime = runtime_directory();
  make_private_directory(runtime);
  PasswordFiles password_files(config.redis, runtime);
  password_files.name_in(config.redis);
  const Identity identity = own_identity(handover, runtime);
  std::unique_ptr<EmbeddedRedis> embedded = embedded_redis(config.redis);
  const DescriptorLimit descriptor_limit = raise_descriptor_limit(config, shards.size());
  name_process(config);
  hold_files(config, find_needed_objects(config));

  const auto program_of = [&](std::shared_ptr<const Config> of_generation) {
    return worker_program(std::move(of_generation), {identity, descriptor_limit, log});
  };

  // These stay open for the previous program until the supervisor stands.
  std::vector<int> left;
  if (handover) left = descriptors_of(*handover);
  if (options.adopt) left.push_back(*options.adopt);
  const auto stands = [&] {
    way_back::close();
    for (const int descriptor : left) close(descriptor);
  };

  // A rolling restart reads the file, checks it in a child, and uses it from then on.  The first one after a takeover
  // uses the configuration of the rehearsal.
  std::optional<ConfigFile> rehearsed;
  if (handover && handover->config && !came_back) rehearsed = config.file;
  const auto read_file = [&] {
    return options.config_path.empty() ? ConfigFile{} : read_config_file(options.config_path);
  };
  const auto load = [&](const ConfigFile& file, const Config& present) {
    Config wanted = load_config(options.config_path, file, options.overrides);
    wanted.redis = with_empty_places(present.redis, std::move(wanted.redis));
    check_alone(wanted);
    return wanted;
  };
  const ConfigSource config_source{
      .file = [&] { return rehearsed ? std::exchange(rehearsed, std::nullopt).value() : read_file(); },
      .try_out =
          [&](const ConfigFile& file, const Config& present, int needed) {
            working_directory::enter();
            write_needed_objects(find_needed_objects(load(file, present)), needed);
          },
      .read =
          [&](const ConfigFile& file, const Config& present, int needed) {
            Config wanted = load(file, present);
            password_files.name_in(wanted.redis);
            hold_files(wanted, read_needed_objects(needed));
            return std::make_shared<const Config>(std::move(wanted));
          }};
  const auto locate = [&](const Config& adopted) {
    password_files.keep();
    std::vector<RedisAddress> all = connections.addresses(adopted.redis);
    raise_descriptor_limit(adopted, all.size());
    return all;
  };
  const auto follow = [&](const Config& adopted) {
    connections.follow(adopted.redis);
    try {
      log.follow(adopted);
    } catch (const std::system_error& error) {  // the check of the file could still open it
      log::warn("log_not_reopened", {{"reason", error.what()}});
    }
    serve_gem_locks(adopted.compatibility.serves_unique_jobs_gem);
    enter_directory_of(adopted);
    warn_of(adopted);
    name_process(adopted);
  };
  const auto web = [&](const Config& present) {
    return become_page(page, present, options.config_path, options.overrides.require, options.overrides.redis_url);
  };

  Supervisor supervisor({.config = std::make_shared<const Config>(config),
                         .identity = identity,
                         .shards = std::move(shards),
                         .embedded_redis = std::move(embedded),
                         .runtime_directory = runtime,
                         .instance = options.instance,
                         .config_file = whole_path(options.config_path),
                         .program_of = program_of,
                         .successor = successor,
                         .handover = std::move(handover),
                         .failed = options.failed,
                         .stands = stands,
                         .read_file = read_file,
                         .config_source = config_source,
                         .locate = locate,
                         .follow = follow,
                         .web = {web, page.descriptors()}});
  return supervisor.run();
}

}  // namespace

int run_command(const RunOptions& options) {
  std::optional<Handover> handover;
  if (options.adopt) handover = take_handover(*options.adopt);

  Config config = first_config(options, handover);
  check_alone(config);
  serve_gem_locks(config.compatibility.serves_unique_jobs_gem);
  OwnConnections connections;
  std::vector<RedisAddress> shards = connections.addresses(config.redis);
  if (handover) require_same_shards(*handover, shards);
  const bool is_rehearsal = handover && handover->rehearsal;
  // Not in a takeover: the rehearsal has done this.
  if (!handover || is_rehearsal || options.check) require_all_programs(config);
  if (config.capsules.empty()) throw ConfigError("no workers are configured");

  if (options.check) return check_configuration(config, shards, Wanted::every_shard, options.startup);
  if (is_rehearsal) return rehearse(config, those_there(shards), *handover, *options.adopt);
  return supervise(options, std::move(config), std::move(connections), std::move(shards), std::move(handover));
}

}  // namespace brood
