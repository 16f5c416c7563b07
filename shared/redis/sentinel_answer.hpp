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
  bool is_seed = false;            // the URL names this sentinel; false: another sentinel named it
};

// The questions to a sentinel, and its answers: one reply each.  A user of the sentinel needs only the right to the
// first command.
std::vector<Command> ask_sentinel(const std::string& master);
struct SentinelReply {
  std::optional<SentinelAnswer> answer;
  std::string refusal = {};  // why there is none
};
SentinelReply read_sentinel(const std::string& master, const std::vector<Reply>& replies);

// The masters that were named, the likeliest first, each once.  A master that most of the answering sentinels name and
// reach comes first; otherwise the highest epoch decides, then the number of votes.  A master that is reported down
// comes last.  Once most of several `seeds` have answered, only their majority counts, since one sentinel could name
// any number of others.  Two answers with the same run id and master are those of one sentinel.  Pure.
struct NamedMaster {
  RedisSeed at;
  int votes = 0;  // of sentinels that reach it
  int votes_of_seeds = 0;
  std::int64_t config_epoch = -1;
  bool is_down = true;  // each sentinel that names it reports it down
};
std::vector<NamedMaster> rank_masters(const std::vector<SentinelAnswer>& answers, std::size_t seeds = 0);

// Whether no further answer matters.  Two conditions: more than half of all sentinels, as far as these know, and of the
// `asked` ones agree on one master that they reach; and more than half of the `seeds` agree on it, or no other seed may
// still answer.  Pure.
bool is_settled(const std::vector<SentinelAnswer>& answers, std::size_t asked, std::size_t seeds = 0);

}  // namespace brood
