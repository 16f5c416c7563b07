#include "supervisor/cli/run.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/identity.hpp"
#include "shared/base/log.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/paths.hpp"
#include "shared/base/process_title.hpp"
#include "shared/config/executable.hpp"
#include "shared/config/password_files.hpp"
#include "shared/config/redis_location.hpp"
#include "shared/config/shard_places.hpp"
#include "shared/config/tls_section.hpp"
#include "shared/config/told_keys.hpp"
#include "shared/periodic/next_tick.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis/tls_certificates.hpp"
#include "shared/store/gem_lock.hpp"
#include "shared/store/rights.hpp"
#include "supervisor/cli/companion.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"
#include "supervisor/process/descriptor_limit.hpp"
#include "supervisor/process/fork_child.hpp"
#include "supervisor/process/own_words.hpp"
#include "supervisor/queues/queue_rivals.hpp"
#include "supervisor/redis/redis_requirements.hpp"
#include "supervisor/restart/what_is_left.hpp"
#include "supervisor/schedule/registered_periodic_jobs.hpp"
#include "supervisor/supervisor.hpp"
#include "supervisor/upgrade/way_back.hpp"
#include "supervisor/version.hpp"
#include "worker/crash/dump_report.hpp"
#include "worker/guard/seccomp_filter.hpp"
#include "worker/job/job_registry.hpp"
#include "worker/job/lifecycle.hpp"
#include "worker/preload.hpp"
#include "worker/recovery/charge_and_return_jobs.hpp"
#include "worker/sandbox/sandbox.hpp"
#include "worker/worker.hpp"

namespace brood {
namespace {

// Runs in a child.  Empty when all libraries can be loaded and all programs executed.
std::string why_not_loadable(const Config& config) {
  try {
    require_programs(config);
    JobRegistry registry;
    registry.load(config);
    return "";
  } catch (const std::runtime_error& refusal) {
    return refusal.what();
  }
}

// Reads the files of [redis.tls], where TLS is spoken.  Throws ConfigError.
void read_certificates(RedisSettings& settings) try {
  if (uses_embedded_redis(settings)) return;
  for (const RedisAddress& shard : locate_shards(settings)) {
    if (!shard.tls) continue;
    settings.certificates = std::make_shared<TlsCertificates>(*shard.tls);
    return;
  }
} catch (const TlsError& error) {
  throw ConfigError(error.what());
} catch (const AddressError& error) {
  throw ConfigError(error.what());
}

std::vector<RedisAddress> those_there(std::vector<RedisAddress> shards) {
  std::erase_if(shards, [](const RedisAddress& shard) { return shard.is_empty_place; });
  return shards;
}

// Those of the collector, whom a child of the supervisor speaks with.  Throws ConfigError.
void try_certificates(const OtlpSettings& otlp) try {
  if (otlp.endpoint.starts_with("https:")) TlsCertificates(with_paths(otlp.tls.value_or(TlsSettings{})));
} catch (const TlsError& error) {
  throw ConfigError(error.what());
}

// Of the supervisor's own connections, which outlive a configuration; none: nobody speaks TLS.
using OwnCertificates = std::shared_ptr<TlsCertificates>;

// The shards for these connections.  The first that speak TLS bring the certificates.
std::vector<RedisAddress> shards_for_supervisor(const RedisSettings& settings, OwnCertificates& certificates) {
  std::vector<RedisAddress> shards = locate_shards(settings);
  if (!settings.certificates) return shards;
  if (!certificates) certificates = std::make_shared<TlsCertificates>(*settings.certificates);
  for (RedisAddress& shard : shards) shard.certificates = certificates;
  return shards;
}

// Runs in a child, which may wait.  Empty when each Redis accepts our certificates and shows one that we accept, or is
// away.
std::string why_no_tls(const std::vector<RedisAddress>& shards) {
  for (const RedisAddress& shard : shards) {
    if (!shard.tls) continue;
    try {
      constexpr std::chrono::seconds patience(2);
      Connection(shard, {patience, patience, true}, "brood-check").call({"PING"});
    } catch (const LoginRefused& refused) {
      return refused.what();
    } catch (const ConnectionLost&) {
    }
  }
  return "";
}

// Runs `body` in a child: the supervisor's process loads no job library, not even to check it.
int try_in_child(const std::string& what, const std::function<void()>& body) {
  const pid_t child = spawn({.title = "brood: check", .keep = {}}, [&] {
    try {
      body();
      std::cout << std::flush;
      return EX_OK;
    } catch (const StartupError& error) {
      std::cerr << "brood: " << log::printable(error.what()) << std::endl;
      return EX_TEMPFAIL;
    } catch (const LibraryError& error) {
      std::cerr << "brood: " << log::printable(error.what()) << std::endl;
      return EX_CONFIG;
    }
  });
  int status = 0;
  check("waitpid", waitpid(child, &status, 0));
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::cerr << "brood: " << what << " ended the process that tried: killed by signal " << WTERMSIG(status) << std::endl;
  return EX_CONFIG;
}

// Their rules and zones are known to be good.
void show_periodic_jobs(const PeriodicJobSettings& jobs) {
  for (const auto& [name, job] : jobs) {
    const auto next = next_tick(job.rule, Zone::find(job.zone).value_or(Zone()),
                                std::chrono::floor<std::chrono::seconds>(wall_now()));
    std::cout << "periodic " << name << ": " << log::printable(job.cron) << " in " << job.zone << ", next "
              << (next ? iso_time(WallTime(*next)) : "never") << std::endl;
  }
}

int check_libraries(const Config& config) {
  return try_in_child("loading the libraries", [&] {
    JobRegistry registry;
    registry.load(config);
    std::cout << "libraries: " << config.require.size() << ", programs: " << config.commands.size() << ", job classes:";
    for (const std::string& name : registry.class_names()) std::cout << ' ' << name;
    std::cout << '\n';
    const auto refuse = [](const std::string& name, const std::string& why) {
      throw LibraryError("the periodic job " + name + " of a library: " + why);
    };
    show_periodic_jobs(read_registered_periodic(registry.periodic_jobs(), refuse));
  });
}

// For each capsule, starts a child as its first worker would start; the child then ends.
int check_startup(const Config& config) {
  for (const CapsuleSettings& capsule : config.capsules) {
    if (capsule.concurrency == 0) continue;
    const int status = try_in_child("the startup of capsule " + capsule.name, [&] {
      alarm(static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(config.boot_timeout).count()));
      tell_jobs_of_redis(config.redis);
      tell_jobs_of_keys(config.encryption, config.redis.share_with_jobs);
      JobRegistry registry;
      registry.load(config);
      Lifecycle(registry, {.capsule = capsule.name}).start();
      std::cout << "startup of capsule " << capsule.name << ": done\n";
    });
    if (status != EX_OK) return status;
  }
  return EX_OK;
}

// Adds what the settings of a cluster's node say to its fitness.
void add_cluster(Connection& connection, RedisFitness& fitness) {
  const std::vector<Reply> replies = connection.pipeline(ask_cluster_settings());
  std::vector<ReplyView> answers;
  for (const Reply& reply : replies) answers.push_back(reply.view());
  const RedisFitness settings = judge_cluster(answers);
  fitness.refusal = settings.refusal;
  const auto warn = [&](const std::string& more) { fitness.warning += (fitness.warning.empty() ? "" : "; ") + more; };
  if (!settings.warning.empty()) warn(settings.warning);
  if (answers.front().is_error())
    warn("CONFIG GET is not allowed (" + std::string(answers.front().error()) +
         "): whether the cluster is set to lose what it has confirmed is not known; see appendonly, save, "
         "cluster-replica-validity-factor and cluster-require-full-coverage");
}

// Redis may be away while a machine is set up: that is no error, as `run` waits for it.  A Redis that refuses us or can
// never be used is an error, with the exit status that `run` would have.  Adds where its data are to `others`.
int check_redis(const Config& config, const RedisAddress& address, std::vector<RedisData>& others) {
  const std::string which = address.shard.empty() ? "" : " " + address.shard;
  std::cout << "redis" << which << ": " << (uses_embedded_redis(config.redis) ? "embedded, " : "")
            << log::printable(address.without_password());
  std::string why_refused;
  try {
    constexpr std::chrono::seconds patience(2);
    Connection connection(address, {patience, patience}, "brood-check");
    const Topology topology = address.in_cluster ? Topology::cluster : Topology::single;
    const std::vector<Reply> replies = connection.pipeline({{"INFO"}, probe_of_rights()});
    const ReplyView info = replies[0].view(), rights = replies[1].view();
    if (classify_error(rights.error()) == ErrorKind::unauthorized) throw LoginRefused(std::string(rights.error()));
    RedisFitness fitness = info.is_string() ? judge_redis(info.text(), topology) : RedisFitness{};
    if (address.in_cluster && fitness.refusal.empty()) add_cluster(connection, fitness);
    others.push_back({address.shard, fitness.run_id, address.db, address.key_prefix});
    if (fitness.refusal.empty()) fitness.refusal = why_not_beside(others.back(), {others.begin(), others.end() - 1});
    if (!fitness.version.empty()) std::cout << ", version " << log::printable(fitness.version);
    if (!info.is_string()) std::cout << "; warning: " << log::printable(info.error());
    if (!fitness.warning.empty()) std::cout << "; warning: " << fitness.warning;
    if (!fitness.refusal.empty()) {
      std::cout << "\n" << std::flush;
      std::cerr << "brood: " << log::printable(fitness.refusal) << std::endl;
      return EX_CONFIG;
    }
    if (const std::string elsewhere = fitness.not_now; !elsewhere.empty())
      std::cout << "; warning: " << elsewhere << ", and it is waited for";
    const auto ask = [&](const std::vector<Command>& commands) { return connection.pipeline(commands); };
    for (const QueueRivalry& rivalry : queue_rivalries(config.capsules, ruby_processes(ask)))
      std::cout << "\nwarning: " << describe(rivalry);
  } catch (const LoginRefused& refused) {
    why_refused = refused.what();
  } catch (const HungUp& hung_up) {
    why_refused = hung_up.what();
  } catch (const HostUnknown& unknown) {
    why_refused = unknown.what();
  } catch (const ConnectionLost& lost) {
    if (!uses_embedded_redis(config.redis))
      std::cout << "; warning: it does not answer now: " << log::printable(lost.what());
  } catch (const UnexpectedReply& refused) {
    std::cout << "; warning: " << log::printable(refused.what());
  }
  std::cout << std::endl;
  if (why_refused.empty()) return EX_OK;
  std::cerr << "brood: Redis" << which << " cannot be used: " << log::printable(why_refused) << std::endl;
  return EX_TEMPFAIL;
}

// Cgroups are not checked: only a running service knows whether it has them.
int check_sandboxes(const Config& config) {
  for (const LackingSandbox& one : lacking_sandboxes(config, nullptr)) {
    const std::string text =
        fmt::format("the sandbox of class {} lacks on this machine: {}", one.job_class, fmt::join(one.lacks, "; "));
    if (one.strict) {
      std::cerr << "brood: " << log::printable(text) << ", and it is strict" << std::endl;
      return EX_CONFIG;
    }
    std::cout << "warning: " << log::printable(text) << std::endl;
  }
  for (const auto& [name, settings] : config.classes) {
    if (!settings.sandbox) continue;
    for (const auto* paths : {&settings.sandbox->read, &settings.sandbox->write}) {
      for (const std::string& path : paths->value_or(std::vector<std::string>{})) {
        if (std::error_code error; !std::filesystem::exists(path, error))
          std::cout << "warning: the sandbox of class " << name << " names " << log::printable(path)
                    << ", which is not there: its jobs will fail" << std::endl;
      }
    }
  }
  return EX_OK;
}

// While brood runs, a shard that refuses us for now is no reason to keep the program before: then one shard is enough.
enum class Wanted { every_shard, one_shard };

int check_everything(const Config& config, const std::vector<RedisAddress>& shards, Wanted wanted,
                     bool startup = false) {
  const auto capsules = std::count_if(config.capsules.begin(), config.capsules.end(),
                                      [](const CapsuleSettings& capsule) { return capsule.concurrency > 0; });
  std::cout << "configuration: " << config.concurrency() << " workers in " << capsules << " capsule"
            << (capsules == 1 ? "" : "s") << std::endl;
  for (const CapsuleSettings& capsule : config.capsules) {
    if (capsule.concurrency == 0) continue;
    std::cout << "capsule " << capsule.name << ": " << capsule.concurrency << " workers, queues";
    for (const std::string& queue : capsule.queues.names()) std::cout << ' ' << queue;
    std::cout << std::endl;
  }
  show_periodic_jobs(config.periodic);
  int redis_status = EX_OK;
  bool one_is_fine = false;
  std::vector<RedisData> data;
  for (const RedisAddress& shard : shards) {
    const int status = check_redis(config, shard, data);
    one_is_fine |= status == EX_OK;
    if (redis_status != EX_CONFIG && status != EX_OK) redis_status = status;
  }
  if (redis_status == EX_TEMPFAIL && one_is_fine && wanted == Wanted::one_shard) redis_status = EX_OK;
  int library_status = check_libraries(config);
  if (startup && library_status == EX_OK) library_status = check_startup(config);
  if (library_status == EX_OK) library_status = check_sandboxes(config);
  if (config.require.empty() && config.commands.empty())
    std::cout << "warning: no job library, so that every job fails as an unknown class" << std::endl;
  // What a person must mend comes before what may pass by itself.
  const int status = library_status != EX_OK ? library_status : redis_status;
  if (status == EX_OK) std::cout << "everything can run" << std::endl;
  return status;
}

void make_private_directory(const std::string& path) {
  // Only a directory that we made ourselves is closed to others: somebody may have named /tmp.
  if (std::filesystem::create_directories(path)) check("chmod", chmod(path.c_str(), 0700));
  struct stat about {};
  check("lstat", lstat(path.c_str(), &about));
  // systemd makes some of our directories links; another user's link in /tmp leads wherever that user likes.
  if (S_ISLNK(about.st_mode) && about.st_uid != geteuid() && about.st_uid != 0)
    throw std::runtime_error("the runtime directory " + path + " is another user's link; set RUNTIME_DIRECTORY");
  check("stat", stat(path.c_str(), &about));
  // A directory in /tmp that somebody else made first would hand them our scoreboard.
  if (about.st_uid != geteuid() && geteuid() != 0)
    throw std::runtime_error("the runtime directory " + path + " belongs to another user; set RUNTIME_DIRECTORY");
}

log::Options log_options(const Config& config) {
  log::Options log = config.log;
  log.journald = log.file.empty() && log::standard_error_is_the_journal();
  log.colour = log.file.empty() && log::standard_error_takes_colour();
  return log;
}

void warn_of(const Config& config) {
  for (const std::string& warning : config.warnings) log::warn("configuration", {{"warning", warning}});
  if (config.require.empty() && config.commands.empty())
    log::warn("no_job_library", {{"hint", "name one with -r; every job will fail as an unknown class"}});
}

// Any process of the same user may read and write the memory of a process that can be dumped, and jobs run as our user.
void shield_from_jobs(const Config& config) {
  check("prctl", prctl(PR_SET_DUMPABLE, 0));
  const auto is_shielded = [&](const CapsuleSettings& one) { return one.worker.value_or(config.worker).seccomp; };
  if (std::any_of(config.capsules.begin(), config.capsules.end(), is_shielded) && !can_shield_supervisor())
    log::warn("supervisor_not_shielded",
              {{"reason", "the kernel refuses seccomp filters"},
               {"hint", "jobs can signal their supervisor; [worker] seccomp = false silences this"}});
}

// Reads what another program has left in this process.  Throws BadHandover when a later version has written it.
Handover take_handover(int descriptor) {
  Handover handover = read_handover(descriptor);
  if (handover.format > Handover::current_format)
    throw BadHandover(fmt::format("brood {} hands over in format {}, and this is {}, which reads {}", handover.version,
                                  handover.format, version, Handover::current_format));
  return handover;
}

// A program that takes over uses the configuration of the rehearsal, whatever the file holds by now; a program that
// comes back uses the configuration that it had.
Config config_of(const RunOptions& options, const std::optional<Handover>& handover) {
  const auto& text = options.failed.empty() ? handover->config : handover->former_config;
  if (!text) return load_config(options.config_path, options.overrides);
  return load_config(options.config_path, ConfigFile{text->text, static_cast<mode_t>(text->mode)}, options.overrides);
}

// A takeover goes on when the log cannot be opened: the workers must not be left without a supervisor.
void open_log(const log::Options& options, const std::optional<Handover>& handover) {
  try {
    log::open(options);
  } catch (const std::system_error& error) {
    if (!handover) throw;
    log::inherit(options, own_descriptor(handover->log).release());
    log::warn("log_not_opened", {{"reason", error.what()}, {"hint", "the one before it is written on"}});
  }
}

// With one Redis only as many as it is given.
std::size_t descriptors_wanted(std::size_t workers, std::size_t shards) {
  return shards > 1 ? descriptors_needed(workers, shards) : 0;
}

DescriptorLimit raise_descriptor_limit(const Config& config, std::size_t shards) {
  const std::size_t needed = descriptors_wanted(static_cast<std::size_t>(config.concurrency()), shards);
  const DescriptorLimit limit(needed);
  if (limit.now() < needed)
    log::warn(
        "few_descriptors",
        {{"needed", needed}, {"limit", limit.now()}, {"hint", "LimitNOFILE of the service, or ulimit -Hn, bounds it"}});
  return limit;
}

void require_descriptors(std::size_t workers, std::size_t shards) {
  const std::size_t needed = descriptors_needed(workers, shards),
                    limit = DescriptorLimit(descriptors_wanted(workers, shards)).now();
  if (limit < needed)
    throw std::runtime_error(fmt::format("a takeover needs {} descriptors, and the limit is {}", needed, limit));
}

// Runs in a child of the program that would hand over: tries all that can fail in a takeover, and changes nothing.
int rehearse(const Config& config, const std::vector<RedisAddress>& shards, const Handover& handover, int copy) {
  const int status = check_everything(config, shards, Wanted::one_shard);
  if (status != EX_OK) return status;
  require_descriptors(handover.workers.size(), shards.size());
  log::open(log_options(config));
  const std::string runtime = runtime_directory();
  make_private_directory(runtime);
  if (access(runtime.c_str(), W_OK | X_OK) != 0)
    throw std::runtime_error("nothing can be written in the runtime directory " + runtime);
  if (uses_embedded_redis(config.redis))
    EmbeddedRedis(state_directory(), embedded_socket_path(), config.redis.appendfsync);
  sign_rehearsal(copy);
  return EX_OK;
}

// Of the configuration that runs, whatever its file holds by now: a name under which the next program of this process
// finds it.
std::string copy_for_companion(const ConfigFile& file) {
  const int copy = check("memfd_create", memfd_create("brood.toml", 0));  // it stays open
  check("fchmod", fchmod(copy, file.mode == 0 ? 0600 : file.mode & 0777));
  for (std::size_t written = 0; written < file.text.size();)
    written += static_cast<std::size_t>(check("write", write(copy, &file.text[written], file.text.size() - written)));
  return fmt::format("/proc/self/fd/{}", copy);
}

// In a child: its program goes by the same configuration, and hears when this one ends.
int become_page(const RunOptions& options, const Config& config) try {
  std::vector<std::string> words = {"--supervised",    "yes", "--listen",
                                    config.web.listen, "-C",  copy_for_companion(config.file)};
  if (config.web.read_only) words.push_back("--read-only");
  if (options.overrides.redis_url) words.insert(words.end(), {"--redis", *options.overrides.redis_url});
  become_companion("brood-web", "web", words);
} catch (const std::exception& error) {
  log::error("web_not_started", {{"reason", error.what()}});
  return EX_UNAVAILABLE;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
}

// Both are the addresses of all shards.  Pure.
std::string why_not_taken_over(const std::string& served, const std::string& wanted) {
  if (wanted.starts_with(served + " "))
    return "brood does not serve each of these shards yet: run `brood restart` first";
  std::vector<std::string> here = words_of(served), there = words_of(wanted);
  std::sort(here.begin(), here.end());
  std::sort(there.begin(), there.end());
  const bool lacks_some =
      here.size() > there.size() && std::includes(here.begin(), here.end(), there.begin(), there.end());
  return lacks_some ? "brood still serves a shard that is to be taken out: run `brood restart` first"
                    : "where Redis is cannot change while brood runs: stop it and start it again";
}

}  // namespace

int run_command(const RunOptions& options) {
  std::optional<Handover> handover;
  if (options.adopt) handover = take_handover(*options.adopt);
  Config config = handover ? config_of(options, handover) : load_config(options.config_path, options.overrides);
  check_zones(config.periodic);
  read_certificates(config.redis);
  try_certificates(config.otlp);
  serve_gem_locks(config.compatibility.serves_unique_jobs_gem);
  OwnCertificates own_certificates;
  if (handover) config.redis = with_empty_places(handover->empty_places(), std::move(config.redis));
  const std::vector<RedisAddress> shards = shards_for_supervisor(config.redis, own_certificates);
  std::string where;
  for (const RedisAddress& shard : those_there(shards)) where += (where.empty() ? "" : " ") + shard.without_password();
  // The jobs that our workers hold are in the Redis that the program before used.
  if (handover && handover->redis != where) throw ConfigError(why_not_taken_over(handover->redis, where));
  const bool only_looks = options.check || (handover && handover->rehearsal);
  // Not in a takeover: the rehearsal has tried this.
  if (!handover || only_looks) require_programs(config);
  if (config.capsules.empty()) throw ConfigError("no workers are configured");
  if (options.check) return check_everything(config, shards, Wanted::every_shard, options.startup);
  if (only_looks) return rehearse(config, those_there(shards), *handover, *options.adopt);
  const Successor successor(own_words(), handover ? handover->program : "");

  log::Options log = log_options(config);
  open_log(log, handover);
  if (!options.failed.empty()) log::error("upgrade_ended", {{"outcome", "refused"}, {"reason", options.failed}});
  const auto follow_log = [&log](const Config& wanted) {
    if (log_options(wanted) == log) return;
    log::open(log_options(wanted));
    log = log_options(wanted);
  };
  shield_from_jobs(config);
  warn_of(config);
  if (geteuid() == 0)
    log::warn("running_as_root", {{"hint", "jobs run with all rights; a user of their own is safer"}});

  const std::string runtime = runtime_directory();
  make_private_directory(runtime);
  PasswordFiles password_files(config.redis, runtime);
  password_files.name_in(config.redis);
  Identity identity = handover ? handover->identity : Identity::of_this_process();
  identity.runtime_directory = std::filesystem::absolute(runtime);
  std::unique_ptr<EmbeddedRedis> embedded;
  if (uses_embedded_redis(config.redis))
    embedded = std::make_unique<EmbeddedRedis>(state_directory(), embedded_socket_path(), config.redis.appendfsync);

  const DescriptorLimit descriptor_limit = raise_descriptor_limit(config, shards.size());
  const BodiesFor bodies = [&](std::shared_ptr<const Config> config) {
    const auto preloaded = std::make_shared<Preloaded>();  // filled in the template and its copies only
    const auto as_configured = [certificates = config->redis.certificates](RedisAddress address) {
      if (address.tls) address.certificates = certificates;
      return address;
    };
    std::vector<RedisAddress> addresses = locate_shards(config->redis);
    for (RedisAddress& shard : addresses) shard = as_configured(shard);
    std::set<std::string> queues;
    for (const CapsuleSettings& capsule : config->capsules) {
      for (const std::string& queue : capsule.queues.names()) queues.insert(queue);
    }
    return ChildBodies{.preload =
                           [=] {
                             follow_log(*config);
                             return preload(*config, *preloaded);
                           },
                       .worker =
                           [=, &identity](const WorkerSetup& worker_setup) {
                             descriptor_limit.give_back();
                             follow_log(*config);
                             return run_worker(worker_setup, *config, identity, addresses, *preloaded);
                           },
                       .recover_worker_deaths =
                           [=](const RedisAddress& shard, const std::vector<WorkerDeath>& worker_deaths,
                               RecoveryMode mode, ChildBodies::ByteCount& bytes) {
                             return run_recovery_child(worker_deaths, mode, *config, as_configured(shard), &bytes);
                           },
                       .orphaned_jobs =
                           [=](const RedisAddress& shard, const OrphanedJobs& orphaned_jobs, RecoveryMode mode,
                               ChildBodies::ByteCount& bytes) {
                             return settle_orphaned_jobs(orphaned_jobs, mode, *config, as_configured(shard), &bytes);
                           },
                       .sweep =
                           [=](const RedisAddress& shard, const OwnIncarnations& own) {
                             return sweep_strays(own, as_configured(shard), those_there(addresses));
                           },
                       .log_stacks = log_stacks,
                       .tell_stack = tell_stack,
                       .check =
                           [=] {
                             follow_log(*config);
                             const std::string why = why_not_loadable(*config);
                             return why.empty() ? why_no_tls(addresses) : why;
                           },
                       .why_not_empty =
                           [=](const std::vector<int>& shards) {
                             std::vector<RedisAddress> some;
                             for (const int shard : shards)
                               some.push_back(addresses.at(static_cast<std::size_t>(shard)));
                             return why_not_empty(some, {queues.begin(), queues.end()});
                           }};
  };

  const auto name_process = [](const Config& named) {
    set_process_title("brood: supervisor" + (named.tag.empty() ? "" : " " + named.tag));
  };
  name_process(config);
  // Until the supervisor stands, these stay open for the program before.
  std::vector<int> left;
  if (handover) left = descriptors_of(*handover);
  if (options.adopt) left.push_back(*options.adopt);
  // The first rolling restart goes by the configuration of the rehearsal.
  std::shared_ptr<const Config> rehearsed;
  if (handover && handover->config && options.failed.empty()) rehearsed = std::make_shared<const Config>(config);
  Supervisor supervisor(
      {.config = std::make_shared<const Config>(config),
       .identity = identity,
       .shards = shards,
       .embedded_redis = std::move(embedded),
       .runtime_directory = runtime,
       .instance = options.instance,
       .bodies = bodies,
       .successor = successor,
       .handover = std::move(handover),
       .failed = options.failed,
       .stands =
           [&left] {
             way_back::close();
             for (const int descriptor : left) close(descriptor);
           },
       .read_file =
           [&options] { return options.config_path.empty() ? ConfigFile{} : read_config_file(options.config_path); },
       .read_config =
           [&options, &rehearsed, &password_files](const Config& present) {
             if (rehearsed) return std::exchange(rehearsed, nullptr);
             Config wanted = load_config(options.config_path, options.overrides);
             check_zones(wanted.periodic);
             wanted.redis = with_empty_places(present.redis, std::move(wanted.redis));
             read_certificates(wanted.redis);
             try_certificates(wanted.otlp);
             password_files.name_in(wanted.redis);
             return std::make_shared<const Config>(std::move(wanted));
           },
       .locate =
           [&own_certificates, &password_files](const Config& adopted) {
             password_files.keep();
             std::vector<RedisAddress> all = shards_for_supervisor(adopted.redis, own_certificates);
             raise_descriptor_limit(adopted, all.size());
             return all;
           },
       .follow =
           [&](const Config& adopted) {
             if (own_certificates && adopted.redis.certificates) own_certificates->follow(*adopted.redis.certificates);
             follow_log(adopted);
             serve_gem_locks(adopted.compatibility.serves_unique_jobs_gem);
             warn_of(adopted);
             name_process(adopted);
           },
       .web = [&options](const Config& config) { return become_page(options, config); }});
  return supervisor.run();
}

}  // namespace brood
