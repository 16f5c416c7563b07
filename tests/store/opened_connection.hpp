#pragma once

#include <boost/test/unit_test.hpp>

#include "tests/store/async_answer.hpp"
#include "tests/store/turned_loop.hpp"
#include "tests/support/redis_server.hpp"

namespace brood {

// An open connection, with its server and a record of its callbacks.
struct OpenedConnection {
  TurnedLoop loop;
  RedisServer server;
  Witness witness;
  AsyncConnection redis{loop.get(), "name", witness.events};

  OpenedConnection() {
    redis.open(server.address());
    BOOST_REQUIRE(loop.until([&] { return redis.connected(); }));
  }
};

}  // namespace brood
