#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <brood/api.hpp>

#include "shared/api/client_connection.hpp"
#include "shared/redis/reply.hpp"

// Other programs may have written anything: what cannot be read counts as nothing, never as an error.
namespace brood {

template <std::integral Number>
Number lenient_number(ReplyView reply) {
  Number number = 0;
  if (reply.is_integer())
    return reply.integer() < 0 && std::unsigned_integral<Number> ? 0 : static_cast<Number>(reply.integer());
  if (!reply.is_string()) return number;
  const std::string_view text = reply.text();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

std::string lenient_text(ReplyView reply);

// A point in time from seconds since the epoch; the epoch itself for what no clock can hold.
Time lenient_time(double epoch_seconds);
Time lenient_time(ReplyView reply);

// All members of a set, sorted; asked for in pages.  Throws RedisError when the key is no set.
std::vector<std::string> members_of(ClientConnection& redis, std::string_view key);

}  // namespace brood
