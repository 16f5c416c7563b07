#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/command.hpp"

namespace brood {

// Jobs for a queue that are written where no worker looks, until all of them are offered at one moment.

Command push_aside(std::string_view queue);  // payloads are to be added to it
// To be sent as a transaction with those of other queues; something must be laid aside.
Command offer_laid_aside(std::string_view queue);

Command drop_queues(const std::vector<std::string>& queues);  // and what is laid aside for them

}  // namespace brood
