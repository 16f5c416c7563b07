#pragma once

#include <uv.h>

#include <boost/test/unit_test.hpp>
#include <chrono>

#include "tests/support/eventually.hpp"

namespace brood {

// A loop that a test runs turn by turn.  At the end every handle must be closed, or uv_loop_close() fails.
class TurnedLoop {
 public:
  TurnedLoop() { BOOST_REQUIRE(uv_loop_init(&loop_) == 0); }
  ~TurnedLoop() {
    uv_run(&loop_, UV_RUN_DEFAULT);
    BOOST_TEST(uv_loop_close(&loop_) == 0);
  }
  TurnedLoop(const TurnedLoop&) = delete;
  TurnedLoop& operator=(const TurnedLoop&) = delete;

  uv_loop_t* get() { return &loop_; }
  void turn() { uv_run(&loop_, UV_RUN_NOWAIT); }

  // As eventually() and within().
  template <typename Predicate>
  bool within(std::chrono::milliseconds time, Predicate holds) {
    return brood::within(time, [&] { return turn(), holds(); });
  }
  template <typename Predicate>
  bool until(Predicate holds, std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    return eventually([&] { return turn(), holds(); }, timeout);
  }

 private:
  uv_loop_t loop_;
};

}  // namespace brood
