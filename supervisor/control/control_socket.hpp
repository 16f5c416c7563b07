#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "supervisor/control/asker.hpp"
#include "supervisor/control/control_path.hpp"
#include "supervisor/control/control_protocol.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Where the command line reaches a running supervisor: a Unix stream socket of mode 0600, for its own user and root.
// The lines are those of supervisor/control/control_protocol.hpp.  The supervisor closes the connection after its last
// line, even if it did not understand the request.  A client may shut down its sending half after the request.  A
// client is closed if it sends more, or leaves a request incomplete or a line unread for 10 s.  When all places are
// taken, a new client replaces the oldest one whose request is incomplete.
//
// Nothing here waits.  All clients together use at most 32 descriptors, each at most 64 KB of request and 1 MB of
// answer.
class ControlSocket {
 private:
  class Client;
  struct Conversation;

 public:
  // Answers one request, at once or later.  Copies answer the same request, and only the first answer counts.  If the
  // last copy is destroyed without an answer, the client gets an error.  Once the client or the socket has gone, all
  // calls do nothing.
  class Reply {
   public:
    Reply() = default;  // for an order that no client gave; a refusal goes to the log
    // For an order whose giver is answered by other means: `hear` is called with each line.
    static Reply heard_by(std::function<void(const ControlLine&)> hear);
    void progress(std::string_view sentence) const;
    void ok(std::string_view json) const;
    // Answers an order that is not carried out with `json`.  Without a client, logs `why`.
    void undone(std::string_view why, std::string_view json) const;
    void error(std::string_view sentence) const;
    bool client_gone() const;
    // The client.  It may be a job, since jobs run as the same user.  Null for an order without a client, and once the
    // client has gone; never null during the handler's call.
    const Asker* asker() const;

   private:
    friend class ControlSocket;
    explicit Reply(std::shared_ptr<Conversation> conversation) : conversation_(std::move(conversation)) {}
    std::shared_ptr<Conversation> conversation_;
  };

  // Called for every well-formed request; an exception is an error for the client.
  using Handler = std::function<void(const std::string& verb, const std::vector<std::string>& arguments, Reply reply)>;

  // Listens at `path`.  After a takeover `listener` is the socket of the previous program.  Throws as listen_at() does.
  ControlSocket(EventLoop& loop, std::string path, Handler handler, UniqueFd listener = {});
  ~ControlSocket();  // closes all clients and removes the file
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  const std::string& path() const { return path_; }
  std::size_t clients() const { return clients_.size(); }
  int listener() const { return listener_.get(); }

 private:
  void watch();
  void accept_clients();
  bool make_room();
  void pause();
  void forget(const Client& client);

  EventLoop& loop_;
  std::string path_;
  Handler handler_;
  UniqueFd listener_;
  std::unique_ptr<FdWatch> watch_;  // destroyed before listener_ is closed
  Timer pause_;
  std::vector<std::shared_ptr<Client>> clients_;
};

}  // namespace brood
