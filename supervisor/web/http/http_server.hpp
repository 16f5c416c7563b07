#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/web/http/http_message.hpp"

namespace brood {

// Serves HTTP/1.1 at a socket that listens, in one loop, without waiting for anybody.  A client has so long for the
// header and again for the body of a request, and to take the answer; a connection without a request is closed after
// `idle`.  Where there is no room for another client, the one that has been silent for longest has to go, so that slow
// ones keep no client out; streams stay, and it is the handler that bounds their number.
class HttpServer {
 private:
  class Client;

 public:
  struct Limits {
    std::size_t clients = 96;
    std::chrono::milliseconds header{10'000}, body{10'000}, write{20'000}, idle{30'000};
  };

  // Where the answer to one request goes: now or later, from the loop's thread.  Once; a client that has gone makes it
  // do nothing.
  class Reply {
   public:
    void operator()(const HttpResponse& response) const;
    // The answer has no end: its head and body now, then pieces, which those that get the same share.  Of the pieces
    // that come while a client is still taking another it gets the newest alone; one that has not taken a piece within
    // `write` is closed.  False: the client has gone.
    bool begin_stream(const HttpResponse& head) const;
    bool send(std::shared_ptr<const std::string> piece) const;
    // Unless something is on its way anyway.
    void keep_alive(std::shared_ptr<const std::string> piece) const;
    void end_stream() const;
    // Whether its client has gone; from any thread.
    bool is_gone() const { return client_.expired(); }

   private:
    friend class HttpServer;
    explicit Reply(std::weak_ptr<Client> client) : client_(std::move(client)) {}
    std::weak_ptr<Client> client_;
  };

  using Handler = std::function<void(HttpRequest request, Reply reply)>;

  HttpServer(EventLoop& loop, UniqueFd listener, Handler handler)
      : HttpServer(loop, std::move(listener), std::move(handler), Limits()) {}
  HttpServer(EventLoop& loop, UniqueFd listener, Handler handler, Limits limits);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::size_t clients() const { return clients_.size(); }

 private:
  void watch();
  void accept_clients();
  bool make_room();
  void forget(const Client& client);

  EventLoop& loop_;
  UniqueFd listener_;
  const Handler handler_;
  const Limits limits_;
  std::unique_ptr<FdWatch> watch_;  // destroyed before listener_ is closed
  Timer pause_;
  std::vector<std::shared_ptr<Client>> clients_;
};

}  // namespace brood
