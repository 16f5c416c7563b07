#pragma once

#include <brood/client.hpp>

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "shared/job/payload.hpp"
#include "tests/support/redis_server.hpp"

namespace brood {

struct MonthlyReport {
  std::string customer;
  int month = 0;
  bool by_mail = false;

  static constexpr JobOptions options{.queue = "reports", .unique = true};
  static constexpr std::string_view job_class = "MonthlyReport";
  void perform() {}
};

// A customer's later job replaces the earlier one.
struct LatestOfCustomer {
  std::string customer;
  int version = 0;

  static constexpr JobOptions options{.queue = "latest", .unique = true, .on_conflict = OnConflict::replace};
  static constexpr auto unique_by = std::tuple{&LatestOfCustomer::customer};
  static constexpr std::string_view job_class = "LatestOfCustomer";
  void perform() {}
};

// A Redis for pushes of unique jobs.
struct UniqueFixture {
  RedisServer redis;
  Client client{redis.url()};
  std::vector<std::string> locks() { return redis.keys("brood:unique:*"); }
  std::string only_holder() {
    const std::vector<std::string> all = locks();
    return all.size() == 1 ? redis.get(all.front()).value_or("") : std::to_string(all.size()) + " locks";
  }
  std::vector<std::string> args_in(const char* queue) {
    std::vector<std::string> all;
    for (const std::string& payload : redis.lrange(std::string("queue:") + queue))
      all.emplace_back(Payload::parse(payload).args());
    return all;
  }
};

}  // namespace brood
