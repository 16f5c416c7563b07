#pragma once

#include <functional>

#include <brood/api.hpp>

#include "shared/api/api_state.hpp"

namespace brood {

// Changes many entries, in one shard after the other, and adds up what became of them.  `progress` gets the sums.
BulkResult change_each(const detail::ApiShards& shards, const Progress& progress,
                       const std::function<std::size_t(detail::ApiState&)>& size,
                       const std::function<BulkResult(detail::ApiState&, const Progress&)>& change);

}  // namespace brood
