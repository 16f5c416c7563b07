#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <brood/client.hpp>

#include "shared/api/push/client_connection.hpp"
#include "shared/api/push/push_buffer.hpp"
#include "shared/api/push/push_writer.hpp"
#include "shared/store/report/ruby_processes.hpp"

namespace brood {

// A client's own part in one process: the connection, and the pushes that it keeps while Redis is away.
class PushSender {
 public:
  PushSender(const RedisAddress& address, const std::optional<BufferOptions>& buffer);
  ~PushSender();  // tries to push the kept jobs
  PushSender(const PushSender&) = delete;
  PushSender& operator=(const PushSender&) = delete;

  void leave_to_parent();
  void keep_while_away(const BufferOptions& options);

  // `batch_size` 0: the usual size.  Throws RedisError, whose message has the number of pushed jobs; NotConfirmed only
  // once all are pushed.
  void push(std::vector<ClientPush> jobs, std::size_t batch_size);

  // The same for at most one slice, if another shard may take it: if Redis takes no push now and has none of it,
  // returns the reason, and leaves it in `jobs`.  A Redis that has not answered for a while must first prove that it
  // does.
  std::optional<std::string> push_unless_away(std::vector<ClientPush>& jobs, std::size_t batch_size);

  // Pushes it unless a job with its jid was pushed so within a day.  Throws RedisError.
  void push_once(ClientPush job);

  // For one of several shards: how long to wait for a connection, while others may take a push.
  void connect_within(std::chrono::milliseconds longest);

  // The unit in which the fleet's oldest release of Sidekiq reads times; the usual one where none runs.  Costs two
  // round trips a minute.
  TimeUnit times_of_fleet();

  std::size_t buffered() const { return buffer_ ? buffer_->size() : 0; }
  // Tries once, for at most `longest`; false when Redis is away.
  bool drain(std::chrono::milliseconds longest);
  bool take_back(std::string_view jid) { return buffer_ && buffer_->take_back(jid); }

  ClientConnection& redis() { return redis_; }

 private:
  struct Restore;
  void push_plain(std::vector<ClientPush> jobs, std::size_t batch_size, std::optional<NotConfirmed>& unconfirmed);
  void push_with_locks(std::vector<ClientPush> jobs, std::optional<NotConfirmed>& unconfirmed);

  ClientConnection redis_;
  FleetRelease fleet_;
  std::optional<PushBuffer> buffer_;
  std::chrono::milliseconds at_end_{0};
  Connection::Timeouts timeouts_;
};

}  // namespace brood
