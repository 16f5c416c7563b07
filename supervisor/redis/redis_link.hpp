#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/address.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/rights.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/redis/embedded_redis.hpp"
#include "supervisor/redis/redis_requirements.hpp"
#include "supervisor/redis/sentinel_watch.hpp"
#include "supervisor/redis/server_finder.hpp"

namespace brood {

// The supervisor's connection to Redis: finds the server, connects, judges whether this Redis can be used, logs once
// when it goes away and when it is back, and runs the embedded server if that is configured.
//
// It does not use a replica; when the master becomes one, it searches again.  With sentinels it also searches when one
// of them names another master, and goes there once that server confirms it.  In a cluster it searches when its node
// has not answered for a second.  A Redis that refuses us is tried again and again: forever if one was usable before,
// else for `give_up_after`.
class RedisLink {
 public:
  // The events since the last take_news().
  struct News {
    bool is_usable = false;  // connected and judged; set at each connection
    // This Redis cannot be used, and none was until now.
    std::optional<RedisTrouble> trouble = {};
    // Another server is the master.  Connections to the previous one are useless, even if they are still open.
    bool has_moved = false;
  };
  // Why `data` cannot be this shard's; empty if they can.  See why_not_beside().
  using WhyNot = std::function<std::string(const RedisData& data)>;
  // How long to try a Redis that refuses us, or whose name is unknown, before any was usable; 0: forever.
  using Patience = std::chrono::milliseconds;

  // `server` is null if this Redis is not embedded.
  RedisLink(EventLoop& loop, Children& children, RedisAddress address, std::unique_ptr<EmbeddedRedis> server,
            Patience give_up_after, WhyNot why_not);

  News take_news() { return std::exchange(news_, {}); }

  // The keys for which later connections must have rights.
  void require_rights_to(OwnKeys keys) { own_keys_ = std::move(keys); }

  // Starts the embedded server, if any, and begins to connect.
  void open();
  // Takes over settings that may change while the same server is used: TLS, and our credentials for it and its
  // sentinels. They hold from the next connection on.
  void follow(const RedisAddress& now);

  // How the embedded server, if any, syncs from now on.
  void sync(AppendFsync fsync);

  // Ends the connection for good.
  void close();

  AsyncConnection& connection() { return connection_; }
  bool is_embedded() const { return server_ != nullptr; }
  bool was_usable() const { return was_usable_; }
  bool connected() const { return connection_.connected(); }
  bool is_away() const { return away_since_.has_value(); }
  std::optional<SteadyTime> away_since() const { return away_since_; }
  // Why this Redis cannot be used although it answers: it refuses us, or its name is unknown.  Empty if no reason is
  // known.
  std::string refusal() const;
  const RedisData& data() const { return data_; }  // without a run_id unless the server is known
  std::string address() const { return address_.without_password(); }
  // The address for children that have little time and start while it is connected.  It is numeric, so that no name
  // server can delay them.  If it is not an ordinary server, each child has to find it itself.
  const RedisAddress& address_for_children() const {
    return address_.must_be_found() ? address_ : connection_.address();
  }
  std::string describe() const;  // for logs: "embedded", or the address without its password
  std::string title() const;     // for people: "Redis", with its name if there are several

  // From now on checks `times` times more rarely whether this Redis is still a master.
  void slow_down(int times) { pace_ = times; }

  // Each turn: does what is due, such as a search or a start of the server.
  void catch_up(SteadyTime now);

  // Call it when a worker went to another server: this one may not be the master any more.  Without a search we would
  // miss a master that moves twice, and workers that wait for the server between would wait in vain.
  void look_for_master();

  // Ends the embedded server.  Returns false if there is nothing to wait for.
  bool stop_server();
  bool server_runs() const { return server_ && server_->running(); }
  void kill_server();

 private:
  void connect();
  void look_for_server();
  void found_nobody(const ServerSearch& search);
  void found(const FoundServer& found);
  void note_reported_move();
  void start_server();
  void introduce();
  void connected_now();
  void judge(const AsyncConnection::Result& info);
  void ask_all(const std::vector<Command>& commands, std::function<void(const std::vector<ReplyView>&)> then);
  void look_at_cluster();
  void use_if_fit(const RedisFitness& fitness);
  void refuse(const std::string& why, RedisTrouble trouble);
  void usable_now();
  void tell_to_sync();
  void look_at_role();
  [[noreturn]] void leave_server(const std::string& why);
  void disconnected(const std::string& why);
  void note_away(const std::string& why);
  void look_at_refusal(SteadyTime now);
  void do_what_is_due(SteadyTime now);
  bool is_silent(SteadyTime now) const;
  std::optional<SteadyTime> next_deadline() const;

  Children& children_;
  RedisAddress address_;
  const std::unique_ptr<EmbeddedRedis> server_;
  const Patience give_up_after_;
  const WhyNot why_not_;
  OwnKeys own_keys_;
  News news_;
  ServerFinder finder_;
  AsyncConnection connection_;
  SentinelWatch sentinels_;
  Timer wake_;  // for catch_up()
  std::optional<SteadyTime> away_since_, next_search_, refused_since_;
  std::string not_found_;  // why waiting alone may not help: the name is unknown, or sentinels refuse us
  bool host_is_unknown_ = false;
  std::optional<RedisSeed> master_;  // from the sentinels
  bool connects_to_master_ = false;  // connects or is connected to `master_`; until that is lost
  bool left_a_server_ = false;       // that workers may still take for the master
  SteadyTime last_search_{}, usable_since_{};
  std::optional<SteadyTime> searches_until_;  // set when a sentinel said that the master moved
  SteadyTime next_report_{};
  SteadyTime next_look_{}, next_role_look_{};
  std::string said_away_for_, said_unfit_for_;
  std::optional<Command> sync_command_;  // not yet confirmed by the embedded server
  RedisData data_;
  int pace_ = 1;
  bool knows_set_info_ = false;  // the server of this connection
  bool is_usable_ = false, was_usable_ = false, gave_up_ = false;
  bool stopping_ = false, closed_ = false;
};

}  // namespace brood
