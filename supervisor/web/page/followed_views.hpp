#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/web/http/http_server.hpp"
#include "supervisor/web/page/role.hpp"
#include "supervisor/web/page/router.hpp"

namespace brood {

// Pages that browsers follow, by streams of events.
//
// A view is made again two seconds after the last time, or after twenty times as long as that took, once for all its
// followers with the same rights.  They get it if it has changed.  A lane makes only one view at a time, so that
// requests wait for at most one.  Without followers nothing is done.
//
// Events: "hello" with the token for the forms, "page" with the content of <main>, "trouble" with a status instead of a
// page, "beat" if there was nothing else for a while.
class FollowedViews {
 public:
  static constexpr std::size_t most_streams = 32;

  struct View {
    const Route* route;
    std::string query;
    Role role;
  };
  // Makes a view's event in the lane of its route, and calls `made` with it in the loop.  Returns false at once if that
  // lane has too much to do.
  using Made = std::function<void(std::shared_ptr<const std::string> event)>;
  using Make = std::function<bool(const View& view, Made made)>;
  FollowedViews(EventLoop& loop, Make make);

  bool has_room() const;
  // Returns false if there is no room, or the client has gone.
  bool add(const View& view, const std::string& token, HttpServer::Reply reply);
  // Ends all streams, since their users may have lost the right to look.  The browsers reconnect and are checked anew.
  void end_all();

 private:
  struct Stream {
    HttpServer::Reply reply;
    bool is_new = true;
  };
  struct Followed {
    View view;
    std::vector<Stream> streams;
    SteadyTime due;
    std::string digest = {};  // of the last one sent
  };

  void advance();
  void look_at(const std::string& name, Followed& followed);
  void made(const std::string& name, SteadyTime began, std::shared_ptr<const std::string> event);

  const Make make_;
  std::map<std::string, Followed> views_;
  std::array<bool, 5> is_busy_{};  // by lane
  SteadyTime last_beat_{};
  Timer timer_;
};

// The query of a page without the members that concern only one request.
std::string lasting_query(std::string_view query);

}  // namespace brood
