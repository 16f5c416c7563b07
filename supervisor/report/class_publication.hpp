#pragma once

#include <vector>

#include "shared/redis/async_connection.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/report/known_builds.hpp"

namespace brood {

// Publishes the options of the job classes of this supervisor's workers in Redis, for programs that push.  Repeats this
// every five minutes while the workers run.  See shared/store/report/published_builds.hpp.
class ClassPublication {
 public:
  ClassPublication(EventLoop& loop, AsyncConnection& redis);

  // Publishes these builds from now on.
  void follow(std::vector<BuildOfClasses> builds);
  // Publishes now, and from then on by itself.  Call it when Redis has become usable.
  void publish();
  void stop();

 private:
  void say(const BuildOfClasses& build, bool with_document);
  void note_refused(const std::string& why);

  AsyncConnection::Scope redis_;
  Timer again_;
  std::vector<BuildOfClasses> builds_;
  bool refused_ = false;  // logged once
};

}  // namespace brood
