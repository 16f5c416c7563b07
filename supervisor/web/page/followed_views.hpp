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

// Pages that are followed, by streams of events.  A view is made again two seconds after the last time, or twenty times
// as long as that took, once for all that look at it with the same rights; each gets it when it differs from what was
// sent. A lane makes one of them at a time, so that requests wait for no more than one.  Nothing is done while nobody
// follows.
//
// Events: "hello" with the token for the forms, "page" with what <main> holds, "trouble" with a status instead of a
// page, "beat" when there was nothing else for a while.
class FollowedViews {
 public:
  static constexpr std::size_t most_streams = 32;

  struct View {
    const Route* route;
    std::string query;
    Role role;
  };
  // Makes the event of a view as it is now in the lane of its route, and hands it over in the loop; at once nothing, if
  // that lane has too much to do.
  using Made = std::function<void(std::shared_ptr<const std::string> event)>;
  using Make = std::function<bool(const View& view, Made made)>;
  FollowedViews(EventLoop& loop, Make make);

  bool has_room() const;
  // False: there is no room, or the client has gone.
  bool add(const View& view, const std::string& token, HttpServer::Reply reply);
  // Of those who may have lost the right to look.  They come again, and are looked at as anybody.
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
    std::string digest = {};  // of what was sent last
  };

  void advance();
  void look_at(const std::string& name, Followed& followed);
  void made(const std::string& name, SteadyTime began, std::shared_ptr<const std::string> event);

  const Make make_;
  std::map<std::string, Followed> views_;
  std::array<bool, 5> is_busy_{};  // each lane
  SteadyTime last_beat_{};
  Timer timer_;
};

// The query of a page without the members that are for one request only.
std::string lasting_query(std::string_view query);

}  // namespace brood
