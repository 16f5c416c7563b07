#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/redis/address.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// One sentinel's answer about a master.
struct SentinelAnswer {
  RedisSeed master;
  std::string run_id;              // the sentinel's own; empty: not given
  std::int64_t config_epoch = -1;  // grows with each failover that the sentinels agreed on; -1: not given
  bool is_down = false;            // it cannot reach the master
  std::vector<RedisSeed> others;   // further sentinels that it knows
  bool is_seed = false;            // the URL names it; others are known only by a sentinel's word
};

// The questions to a sentinel, and its answers: one reply each.  A user of the sentinel needs only the right to the
// first command.
std::vector<Command> ask_sentinel(const std::string& master);
struct SentinelReply {
  std::optional<SentinelAnswer> answer;
  std::string refusal = {};  // why there is none
};
SentinelReply read_sentinel(const std::string& master, const std::vector<Reply>& replies);

// The masters that were named, the likeliest first, each once.  One that most of the answering sentinels name, and
// reach, outvotes the rest; otherwise the highest epoch wins, then the number of votes.  A master that is reported down
// comes last.  Once most of several `seeds` have answered, their majority alone counts: one sentinel may name as many
// others as it likes.  Two answers are one sentinel's if they bear one run id and name one master.  Pure.
struct NamedMaster {
  RedisSeed at;
  int votes = 0;  // of sentinels that reach it
  int votes_of_seeds = 0;
  std::int64_t config_epoch = -1;
  bool is_down = true;  // each sentinel that names it reports it down
};
std::vector<NamedMaster> rank_masters(const std::vector<SentinelAnswer>& answers, std::size_t seeds = 0);

// Whether no further answer matters: more than half of the sentinels that there are, as far as these know, and of the
// `asked` agree on one master that they reach; and more than half of the `seeds` do so, or no other seed may yet
// answer.  Pure.
bool is_settled(const std::vector<SentinelAnswer>& answers, std::size_t asked, std::size_t seeds = 0);

}  // namespace brood
