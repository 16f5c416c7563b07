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

// Serves HTTP/1.1 at a listening socket, in one loop that never blocks.
//
// Each client has a time limit for the header of a request, for its body, and for taking the answer; a connection
// without a request is closed after `idle`.  If there is no room for another client, the one that has been silent for
// longest is closed, so that slow clients keep none out.  Streams stay: the handler bounds their number.
class HttpServer {
 private:
  class Client;

 public:
  struct Limits {
    std::size_t clients = 96;
    std::chrono::milliseconds header{10'000}, body{10'000}, write{20'000}, idle{30'000};
  };

  // Gives the answer to one request, now or later, in the loop's thread.  Call it once; it does nothing if the client
  // has gone.
  class Reply {
   public:
    void operator()(const HttpResponse& response) const;
    // Begins an endless answer: its head and body now, then pieces, which all receivers share.  If pieces come while a
    // client is still taking an earlier one, it gets only the newest.  A client that has not taken a piece within
    // `write` is closed. Returns false if the client has gone.
    bool begin_stream(const HttpResponse& head) const;
    bool send(std::shared_ptr<const std::string> piece) const;
    // Does nothing if a piece is on its way.
    void keep_alive(std::shared_ptr<const std::string> piece) const;
    void end_stream() const;
    // Whether its client has gone; callable from any thread.
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
