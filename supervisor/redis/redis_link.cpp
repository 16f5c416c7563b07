#include "supervisor/redis/redis_link.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/random.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis/find_server.hpp"
#include "supervisor/redis/redis_requirements.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto resolve_again_after = 5s;
constexpr auto ask_others_again_after = 500ms;
constexpr auto unusual_silence = 1s;         // of a cluster node: another may have taken its place
constexpr auto worth_a_search_at_once = 1s;  // if it was usable for that long
constexpr auto time_to_move = 10s;           // from a sentinel's message until the server agrees
constexpr auto look_again_after = 1s;
constexpr auto report_interval = 60s;
constexpr auto look_at_role_again_after = 10s;
constexpr auto role_deadline = 10s;
constexpr auto probe_deadline = 10s;

bool speaks_otherwise(const std::optional<TlsSettings>& one, const std::optional<TlsSettings>& other) {
  return one && other &&
         (one->server_name != other->server_name || one->min_version != other->min_version ||
          one->verify != other->verify);
}

}  // namespace

RedisLink::RedisLink(EventLoop& loop, Children& children, RedisAddress address, std::unique_ptr<EmbeddedRedis> server,
                     Patience give_up_after, WhyNot why_not)
    : children_(children),
      address_(std::move(address)),
      server_(std::move(server)),
      give_up_after_(give_up_after),
      why_not_(std::move(why_not)),
      finder_(children),
      connection_(loop.raw(), "brood-supervisor",
                  {.connected = [this] { connected_now(); },
                   .disconnected = [this](const std::string& why) { disconnected(why); },
                   .judge = [this](const AsyncConnection::Result& info) { judge(info); }}),
      sentinels_(loop, [this] { note_reported_move(); }),
      wake_(loop),
      data_{.shard = address_.shard, .run_id = {}, .db = address_.db, .key_prefix = address_.key_prefix} {}

std::string RedisLink::describe() const { return server_ ? "embedded" : address_.without_password(); }

std::string RedisLink::title() const { return address_.shard.empty() ? "Redis" : "Redis " + address_.shard; }

void RedisLink::open() {
  start_server();
  connect();
}

void RedisLink::follow(const RedisAddress& now) {
  address_.user = now.user;
  address_.password = now.password;
  address_.password_file = now.password_file;
  address_.sentinel_user = now.sentinel_user;
  address_.sentinel_password = now.sentinel_password;
  address_.sentinel_password_file = now.sentinel_password_file;
  address_.wait = now.wait;
  const bool otherwise = speaks_otherwise(address_.tls, now.tls);
  address_.tls = now.tls;
  if (otherwise && !closed_) connect();
}

void RedisLink::sync(AppendFsync fsync) {
  if (!server_) return;
  sync_command_ = server_->sync_from_now_on(fsync);
  if (connected()) tell_to_sync();
}

void RedisLink::tell_to_sync() {
  if (!sync_command_) return;
  connection_.send(*sync_command_, probe_deadline, [this](AsyncConnection::Result result) {
    if (result.ok()) return sync_command_.reset();
    log::warn("appendfsync_not_set", {{"reason", result.error.empty() ? "Redis refused it" : result.error}});
  });
}

void RedisLink::close() {
  closed_ = true;
  sentinels_.stop();
  connection_.close();
  wake_.stop();
  away_since_.reset();
  next_search_.reset();
  not_found_.clear();
  is_usable_ = false;
  data_.run_id.clear();
}

void RedisLink::start_server() {
  if (!server_) return;
  try {
    server_->start(children_);
  } catch (const std::system_error& error) {
    log::error("embedded_redis_not_started", {{"reason", error.what()}});
  }
}

void RedisLink::connect() {
  if (ServerFinder::has_to_find(address_))
    look_for_server();
  else
    connection_.open(address_);
}

void RedisLink::look_for_server() {
  next_search_.reset();
  last_search_ = steady_now();
  try {
    finder_.find(address_, [this](const ServerSearch& search) {
      if (search.found)
        found(*search.found);
      else
        found_nobody(search);
    });
  } catch (const std::system_error& error) {
    log::warn("resolver_not_started", {{"reason", error.what()}});
    next_search_ = steady_now() + jittered(resolve_again_after);
  }
}

void RedisLink::found_nobody(const ServerSearch& search) {
  if (closed_) return;
  const bool others_know = address_.must_be_found();
  next_search_ = steady_now() + jittered(others_know ? ask_others_again_after : resolve_again_after);
  // The old address may have answered again meanwhile, and commands may be under way.
  if (connected()) return;
  host_is_unknown_ = search.reason == ServerSearch::Reason::host_unknown;
  if (search.reason == ServerSearch::Reason::away) {
    not_found_.clear();
    note_away(address_.without_password() + ": " + search.why);
  } else if (others_know || connection_.address().numeric_hosts.empty()) {
    // A name that was known before will be known again.  Until then its last address is tried.
    not_found_ = others_know ? address_.without_password() + ": " + search.why : search.why;
    if (others_know && !away_since_) away_since_ = steady_now();
  }
}

void RedisLink::found(const FoundServer& found) {
  if (closed_) return;
  if (!address_.must_be_found()) {
    if (connected()) return;
    not_found_.clear();
    connection_.open(found.server);
    return;
  }
  remember_server(address_, found);  // for later workers
  if (address_.has_sentinels()) sentinels_.listen(address_, found.tellers);
  const RedisSeed at = place_of(found.server);
  if (connects_to_master_ && master_ == at) {
    if (searches_until_ && steady_now() < *searches_until_) next_search_ = steady_now() + ask_others_again_after;
    return;
  }
  searches_until_.reset();
  not_found_.clear();
  const bool has_moved = master_ && *master_ != at;
  if (master_ != at)
    log::info("redis_master", {{"redis", address_.without_password()}, {"at", found.server.without_password()}});
  master_ = at;
  if (connected()) disconnected("the master is elsewhere: " + found.server.without_password());
  next_search_.reset();
  connection_.open(found.server);
  connects_to_master_ = true;
  news_.has_moved |= has_moved;
}

// A sentinel's message is not trusted, but it makes us search.  We search again for a while, since the other sentinels
// may not know of the move yet.
void RedisLink::note_reported_move() {
  if (closed_) return;
  searches_until_ = steady_now() + time_to_move;
  look_for_master();
}

// Repeated calls do not make us search more often.
void RedisLink::look_for_master() {
  if (closed_ || !address_.must_be_found()) return;
  next_search_ = std::max<SteadyTime>(steady_now(), last_search_ + ask_others_again_after);
  wake_.start_at(next_deadline());
}

// Names this client in CLIENT LIST and on the pages of hosted servers.  An older server would count an error, and a
// server with its own users would log a denied command for each user that may not do this.
void RedisLink::introduce() {
  if (!knows_set_info_ || !address_.user.empty()) return;
  connection_.send_all({{"CLIENT", "SETINFO", "LIB-NAME", "brood"}, {"CLIENT", "SETINFO", "LIB-VER", BROOD_VERSION}},
                       probe_deadline, [](const std::vector<AsyncConnection::Result>&) {});
}

void RedisLink::connected_now() {
  introduce();
  ask_all(ask_rights(own_keys_), [this](const std::vector<ReplyView>& answers) {
    if (const std::string missing = missing_right(answers); !missing.empty())
      throw ConnectionLost(Loss::login_refused, missing);
    const auto leads_elsewhere = [](const ReplyView& answer) {
      return classify_error(answer.error()) == ErrorKind::not_applied_reconnect;
    };
    if (std::any_of(answers.begin(), answers.end(), leads_elsewhere)) return;
    if (address_.in_cluster)
      look_at_cluster();
    else
      usable_now();
  });
}

// If the connection is lost meanwhile, the next one asks anew.
void RedisLink::ask_all(const std::vector<Command>& commands, std::function<void(const std::vector<ReplyView>&)> then) {
  connection_.send_all(commands, probe_deadline,
                       [then = std::move(then)](const std::vector<AsyncConnection::Result>& results) {
                         std::vector<ReplyView> answers;
                         for (const AsyncConnection::Result& result : results) {
                           if (!result.error.empty()) return;
                           answers.push_back(result.reply.view());
                         }
                         then(answers);
                       });
}

// Judges the settings of a cluster node, as far as we may read them.
void RedisLink::look_at_cluster() {
  ask_all(ask_cluster_settings(), [this](const std::vector<ReplyView>& answers) {
    use_if_fit(judge_cluster(answers));
    usable_now();
  });
}

void RedisLink::usable_now() {
  if (away_since_) {
    const std::chrono::duration<double> away = steady_now() - *away_since_;
    const std::string after = fmt::format("{:.1f}s", away.count());
    if ((was_usable_ || !server_) && address_.shard.empty()) log::info("redis_is_back", {{"after", after}});
    if (!address_.shard.empty()) log::info("redis_is_back", {{"shard", address_.shard}, {"after", after}});
    away_since_.reset();
    said_away_for_.clear();
  }
  said_unfit_for_.clear();
  if (!searches_until_) next_search_.reset();
  refused_since_.reset();
  not_found_.clear();
  next_role_look_ = steady_now() + pace_ * look_at_role_again_after;
  is_usable_ = was_usable_ = true;
  usable_since_ = steady_now();
  news_.has_moved |= std::exchange(left_a_server_, false);
  tell_to_sync();
  news_.is_usable = true;
}

// Judges a server that has just accepted us.
void RedisLink::judge(const AsyncConnection::Result& info) {
  const Topology topology = address_.in_cluster ? Topology::cluster : Topology::single;
  const RedisFitness fitness = info.ok() ? judge_redis(info.reply.view().text(), topology) : RedisFitness{};
  data_.run_id.clear();
  use_if_fit(fitness);
  knows_set_info_ = fitness.knows_set_info;
  RedisData data = data_;
  data.run_id = fitness.run_id;
  if (const std::string why = why_not_(data); !why.empty()) refuse(why, RedisTrouble::same_as_another);
  data_ = std::move(data);
}

void RedisLink::use_if_fit(const RedisFitness& fitness) {
  if (!fitness.refusal.empty()) refuse(fitness.refusal, RedisTrouble::unfit);
  // At the start only the URL names this server, and it may be a permanent replica.
  if (fitness.is_replica && !was_usable_ && !address_.must_be_found())
    throw ConnectionLost(Loss::login_refused, fitness.not_now);
  if (!fitness.not_now.empty()) leave_server(fitness.not_now);
  if (!fitness.warning.empty()) log::warn("redis_setting", {{"reason", fitness.warning}});
}

void RedisLink::refuse(const std::string& why, RedisTrouble trouble) {
  if (std::exchange(said_unfit_for_, why) != why)
    log::error("redis_unfit", {{"reason", why}, {"redis", address_.without_password()}});
  if (!refused_since_) {
    refused_since_ = steady_now();
    next_report_ = *refused_since_ + report_interval;  // it was logged just now
  }
  if (!was_usable_) news_.trouble = trouble;
  throw ConnectionLost(Loss::login_refused, why);
}

// A master that has become a replica refuses writes, which makes us leave it.  But a replica may be configured to
// accept writes, so we also ask for its role.
void RedisLink::look_at_role() {
  connection_.send({"INFO", "replication"}, role_deadline, [this](AsyncConnection::Result info) {
    if (!info.ok()) return;
    const std::string why = why_no_master(info.reply.view().text());
    if (!why.empty()) leave_server(why);
  });
}

// Leaves a server that is no master any more.  Busy workers would stay there: their connections are open, and their
// writes are accepted.
void RedisLink::leave_server(const std::string& why) {
  left_a_server_ = was_usable_;
  throw ConnectionLost(why);
}

void RedisLink::disconnected(const std::string& why) {
  if (closed_) return;
  is_usable_ = connects_to_master_ = false;
  data_.run_id.clear();
  // The host name or the sentinels may now lead elsewhere.  A server from sentinels is tried again only if it is still
  // the master.  If the server was lost as soon as it was found, there is no reason to hurry.
  const SteadyTime now = steady_now();
  if (ServerFinder::has_to_find(address_))
    next_search_ = now + jittered(!away_since_ && now - usable_since_ >= worth_a_search_at_once ? 0ms
                                  : address_.must_be_found()                                    ? ask_others_again_after
                                                                                                : resolve_again_after);
  if (address_.must_be_found()) connection_.close();
  note_away(why);
}

void RedisLink::note_away(const std::string& why) {
  if (!away_since_) away_since_ = steady_now();
  // The embedded server takes a moment until it first listens, and it ends when we stop it.
  const bool expected = server_ && (!was_usable_ || stopping_);
  const auto level = expected ? log::Level::debug : log::Level::warn;
  if (refusal().empty() && why != said_away_for_)
    log::write(level, "redis_away", {{"redis", address_.without_password()}, {"reason", why}});
  said_away_for_ = why;
}

std::string RedisLink::refusal() const {
  if (is_usable_) return "";
  return not_found_.empty() ? connection_.refusal() : not_found_;
}

// Logs a refusal at once and then every minute.  It may pass when an operator fixes a password, or a name becomes
// known.
void RedisLink::look_at_refusal(SteadyTime now) {
  const std::string why = refusal();
  if (why.empty()) {
    if (!connected()) refused_since_.reset();
    return;
  }
  if (!refused_since_) {
    refused_since_ = now;
    next_report_ = now;
  }
  if (now >= next_report_) {
    log::warn(not_found_.empty() || !host_is_unknown_ ? "redis_refuses_us" : "redis_host_unknown",
              {{"redis", address_.without_password()}, {"reason", why}});
    next_report_ = now + report_interval;
  }
  if (was_usable_ || gave_up_ || give_up_after_ == Patience(0) || now - *refused_since_ < give_up_after_) return;
  log::error("redis_given_up", {{"redis", address_.without_password()}, {"reason", why}});
  gave_up_ = true;
  news_.trouble = RedisTrouble::refuses_us;
}

void RedisLink::catch_up(SteadyTime now) {
  do_what_is_due(now);
  wake_.start_at(next_deadline());
}

void RedisLink::do_what_is_due(SteadyTime now) {
  if (next_search_ && *next_search_ <= now) connect();
  look_at_refusal(now);
  if (is_silent(now) && now - last_search_ >= unusual_silence) look_for_server();
  if (connected() && now >= next_role_look_) {
    next_role_look_ = now + pace_ * look_at_role_again_after;
    look_at_role();
    // Without a sentinel connected, no message would report that the master moved.
    if (address_.has_sentinels() && !sentinels_.hears()) look_for_server();
  }
  if (!server_ || stopping_) return;
  if (server_->next_start() && *server_->next_start() <= now) start_server();
  // We do not reap a server that another supervisor started: only a look shows that it is gone.
  if (!connected() && now >= next_look_) {
    server_->look(now);
    next_look_ = now + look_again_after;
  }
}

// Whether a cluster node has been silent for too long.  No message reports that a node was replaced, and a node that is
// stopped or cut off neither closes nor refuses connections.
bool RedisLink::is_silent(SteadyTime now) const {
  if (!address_.in_cluster || !connects_to_master_) return false;
  const auto waits_since = connection_.waits_since();
  return !connected() || (waits_since && now - *waits_since >= unusual_silence);
}

std::optional<SteadyTime> RedisLink::next_deadline() const {
  std::optional<SteadyTime> next = next_search_;
  if (!server_ || stopping_) return next;
  for (const std::optional<SteadyTime> at :
       {server_->next_start(), connected() ? std::nullopt : std::optional(next_look_)}) {
    if (at && (!next || *at < *next)) next = at;
  }
  return next;
}

bool RedisLink::stop_server() {
  stopping_ = true;
  return server_ && server_->stop();
}

void RedisLink::kill_server() {
  if (server_) server_->kill_now();
}

}  // namespace brood
