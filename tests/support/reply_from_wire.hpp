#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <string>

#include <boost/test/unit_test.hpp>

#include "shared/redis/reply.hpp"

namespace brood {

// The reply that hiredis reads from these bytes.
inline Reply reply_from_wire(const std::string& wire) {
  const std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader(redisReaderCreate(), &redisReaderFree);
  void* reply = nullptr;
  redisReaderFeed(reader.get(), wire.data(), wire.size());
  BOOST_REQUIRE(redisReaderGetReply(reader.get(), &reply) == REDIS_OK);
  return Reply(static_cast<redisReply*>(reply));
}

// Unexpected answers.
inline const std::string refused_on_wire = "-NOPERM this user has no permissions\r\n";
inline const std::string wrong_type_on_wire = "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
inline const std::string nil_on_wire = "$-1\r\n";

}  // namespace brood
