#pragma once

#include <boost/test/unit_test.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/redis/async_connection.hpp"

namespace brood {

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Records the callbacks of a connection.
struct Witness {
  int connects = 0;
  std::vector<std::string> losses;
  AsyncConnection::Events events{[this] { ++connects; }, [this](const std::string& why) { losses.push_back(why); }};
};

// Keeps the result of one command.
struct Answer {
  std::optional<AsyncConnection::Result> result;
  AsyncConnection::Callback keep() {
    return [this](AsyncConnection::Result r) {
      BOOST_TEST(!result.has_value());  // never called twice
      result = std::move(r);
    };
  }
  explicit operator bool() const { return result.has_value(); }
};

}  // namespace brood
