#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <brood/options.hpp>

#include "shared/base/held_files.hpp"
#include "shared/base/log.hpp"
#include "shared/base/sidekiq_release.hpp"
#include "shared/config/cap_settings.hpp"
#include "shared/config/config_file.hpp"
#include "shared/config/encryption_settings.hpp"
#include "shared/config/error_settings.hpp"
#include "shared/config/otlp_settings.hpp"
#include "shared/config/periodic_settings.hpp"
#include "shared/config/queue_order.hpp"
#include "shared/config/sandbox_settings.hpp"
#include "shared/config/show_args.hpp"
#include "shared/config/statsd_settings.hpp"
#include "shared/config/tenants.hpp"
#include "shared/redis/tls_settings.hpp"

namespace brood {

class TlsCertificates;
struct RedisAddress;

// When redis-server syncs its append-only file to disk, in its own words.
enum class AppendFsync {
  always,    // before it answers: what it confirmed survives a kill and a power cut
  everysec,  // once a second: a kill loses up to two seconds on a slow disk, a power cut on any
  no,        // when the kernel sees fit: a power cut loses up to half a minute
};

// One of several Redis servers that hold jobs ([[redis.shard]]).
struct ShardSettings {
  std::string name;  // "0", "1", ... where the file names none
  std::string url;
  std::string user, password_file;         // empty: those of [redis]
  std::string private_password_file = {};  // as in RedisSettings
  bool drain = false;                      // its jobs are performed, and no new ones are pushed there
  bool is_empty_place = false;             // it was taken out while brood runs: see shard_places.hpp
};

// How we log in to the sentinels of a sentinel:// ([redis.sentinel]).
struct SentinelSettings {
  std::string user, password_file;  // empty: they ask for none
};

// The addresses of Redis and our user there.  `url` is redis://, rediss://, unix://, sentinel://, cluster:// or
// "embedded"; empty: not configured.
struct RedisSettings {
  std::string url;
  std::string user;
  std::string password_file;                           // or "credential:NAME": see password_files.hpp
  std::optional<TlsSettings> tls = {};                 // [redis.tls]
  std::shared_ptr<TlsCertificates> certificates = {};  // from its files; null: not read yet
  SentinelSettings sentinel = {};
  int wait = 0;                                   // how many replicas must confirm a push or a settle
  std::chrono::milliseconds wait_timeout{1'000};  // how long they may take
  std::vector<ShardSettings> shard_list = {};     // if there are any, `url` is empty
  int shards = 16;                                // of a cluster://
  std::vector<int> drain = {};                    // which of these are drained, as ShardSettings::drain
  int empty_places = 0;                           // how many of them were taken out, behind these
  AppendFsync appendfsync = AppendFsync::always;  // of the embedded server
  bool share_with_jobs = true;                    // the environment of jobs names the same Redis
  bool share_password_in_url = false;             // there, the URL has the password
  std::string private_password_file = {};         // that brood writes for jobs, with that password; empty: none
  std::shared_ptr<const std::vector<RedisAddress>> located = {};  // see remember_shards()
  // How long `run` keeps trying at its start if Redis refuses us or the host name is unknown; 0: for ever.
  std::chrono::milliseconds give_up_after{30'000};
};

// Whether workers are forked from a template: a process that has loaded the libraries, and run their preload handlers,
// once for all workers.
enum class Preload {
  automatic,  // when a library has such a handler
  always,
  never,
};

struct WorkerSettings {
  std::uint64_t max_jobs = 0;       // 0: never recycle
  std::uint64_t max_rss_bytes = 0;  // 0: no limit
  std::uint64_t memory_limit_bytes = 0;
  std::chrono::milliseconds job_timeout{0};  // 0: none
  std::chrono::milliseconds timeout_grace{2000};
  int max_crashes = 3;
  int max_batch = 32;
  bool seccomp = true;  // workers cannot signal, trace or slow down their supervisor
  LeftThreads threads = LeftThreads::replace;
  Preload preload = Preload::automatic;
};

// The fate of a job that has expired before it began.
enum class ExpiredJobs {
  drop,  // it ends as if it had succeeded
  dead,  // it goes to the dead set, unless its option `dead` is false
};

// Settings for the jobs of one class, in whichever worker they run.
struct ClassSettings {
  std::optional<LeftThreads> threads = {};  // nullopt: as in its code, else as the worker's
  std::optional<Isolation> isolation = {};  // nullopt: as in its code
  std::optional<SandboxSettings> sandbox = {};
  std::optional<ExpiredJobs> expired = {};  // nullopt: as Config::expired
  std::string place = {};                   // of the section: "etc/brood.toml:12: classes.Resize"
};

// A pool of workers with queues of its own.  The one named "default" takes the top-level settings.
struct CapsuleSettings {
  std::string name = "default";
  int concurrency = 1;
  QueueOrder queues = {};
  std::optional<WorkerSettings> worker = {};  // its workers'; nullopt: as Config::worker
  std::vector<CapSettings> caps = {};         // of all queues: [limits.NAME]
  TenantWeights tenant_weights = {};          // of all: [tenants.BASE]
};

// A job class that is a program.
struct CommandSettings {
  std::vector<std::string> run;            // the program, then what executable.hpp reads
  std::chrono::milliseconds timeout{0};    // 0: none of its own
  std::map<std::string, std::string> env;  // added to what the worker has
  std::string directory;                   // absolute; empty: the worker's
  std::string place;                       // of `run`: "etc/brood.toml:12: commands.Transcode.run"
  // As they were when the configuration was read: see hold_files().
  std::string program = {};  // its path; empty: to be looked for
  std::shared_ptr<const HeldFiles> held = {};
};

// Choices where releases of Sidekiq differ.
struct CompatibilitySettings {
  // The release whose rules apply; nullopt: the oldest that runs beside brood.
  std::optional<SidekiqRelease> sidekiq = {};
  // How pushes spell times; nullopt: as that release does.
  std::optional<TimeUnit> timestamps = {};
  bool serves_unique_jobs_gem = false;  // locks of the gem sidekiq-unique-jobs are let go with their jobs

  std::optional<TimeUnit> time_unit() const;  // nullopt: neither is set
};

// How a rolling restart is judged after its new workers were ready.
struct RestartSettings {
  bool canary = true;                              // roll back new workers that do worse than the old ones
  std::chrono::milliseconds canary_watch{30'000};  // how long they are watched after the last one was replaced
};

// When a class is put into quarantine: its jobs wait, since they crash again and again at one place with the same
// libraries.
struct CrashSettings {
  int quarantine_after = 0;  // after how many crashes with one fingerprint; 0: never
  std::chrono::seconds within{600};
};

// When fewer workers may fetch because memory is scarce.
struct PressureSettings {
  int memory = 10;  // percent of the time in which every process stalls for want of memory; 0: never
  std::string proc = "/proc", cgroup = "/sys/fs/cgroup";  // where the kernel shows that
};

// The web page ([web]).
struct WebSettings {
  std::string listen;              // as ListenAddress reads it; empty: there is none
  std::string mode = "0660";       // of a Unix socket
  bool read_only = false;          // users can change nothing
  std::vector<std::string> hosts;  // Host names that it accepts besides those of the address itself
  std::string users;               // a file with the users; empty: every client that reaches the socket
  std::string user_header;         // the header in which a proxy names the user; empty: none
  std::string proxy_user;          // the user, by name or number, whose processes may send that header
  enum class Metrics {
    elected,  // this host's numbers; and those of the whole Redis unless another host reports them
    all,
    host,
    redis,
  } metrics = Metrics::elected;
  ShowArgsSettings show_args;
  std::string base_path;  // the path below which a proxy shows it: "/brood"; empty: the root
  int api_rate = 100;     // requests a second that each user may send to /api; 0: any number
};

// Larger than any set, and as seconds longer than any time.
inline constexpr std::int64_t no_limit_of_dead = INT64_MAX;

// Every setting of etc/brood.toml as a plain value.
struct Config {
  static constexpr int most_workers = 10'000;  // of all capsules together

  std::vector<CapsuleSettings> capsules;  // "default" first; never empty once loaded
  std::vector<std::string> require;
  std::chrono::milliseconds shutdown_timeout{25'000};
  std::chrono::milliseconds boot_timeout{300'000};  // of a worker, from its fork until it is ready
  std::string environment = "development";
  std::string tag;
  std::chrono::milliseconds poll_interval{5'000};  // Sidekiq's average_scheduled_poll_interval
  // [scheduler] queues = "own": due jobs of queues that only Ruby's processes serve are left to those for a while.
  bool leaves_due_jobs_to_ruby = true;
  int max_retries = 25;
  int max_unavailable = 1;
  bool metrics = true;                                 // writes Sidekiq's execution metrics
  std::chrono::milliseconds max_iteration_runtime{0};  // of one run of an iterable job; 0: no limit
  ExpiredJobs expired = ExpiredJobs::drop;
  std::vector<std::string> labels;
  std::int64_t dead_max_jobs = 10'000;  // no_limit_of_dead for a command without its server's configuration
  std::chrono::seconds dead_timeout{180 * 86'400};
  RedisSettings redis;
  log::Options log;
  bool log_jobs = false;
  WorkerSettings worker;  // of the default capsule; the others take from it what they do not set
  std::map<std::string, ClassSettings> classes;
  std::map<std::string, CommandSettings> commands;
  std::optional<CommandSettings> on_error;  // a program that failures are reported to; its words are taken literally
  ErrorSettings errors;                     // the services that they are reported to
  CompatibilitySettings compatibility;
  RestartSettings restart;
  PressureSettings pressure;
  CrashSettings crashes;
  WebSettings web;
  StatsdSettings statsd;
  OtlpSettings otlp;
  EncryptionSettings encryption;
  std::map<std::string, PeriodicSettings> periodic;
  bool serves_sidekiq_cron = false;  // also runs the schedules of the gem sidekiq-cron in Redis
  ConfigFile file;                   // that it was read from; empty: there is none
  // The files that it names, held open: see hold_files().  None: they are found by their paths.
  std::shared_ptr<const HeldFiles> held;
  std::string directory;              // the working directory of its children, held too; empty: the supervisor's
  std::vector<std::string> warnings;  // for the log, a sentence each: settings that work but should be changed

  int concurrency() const;  // workers of all capsules together
  const WorkerSettings& worker_of(int capsule) const;
};

}  // namespace brood
