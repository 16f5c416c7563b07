#pragma once

#include <optional>
#include <string>

#include "supervisor/watch/listing.hpp"
#include "supervisor/watch/model.hpp"

namespace brood::watch {

std::string title_of(Pane pane);

// The pane's rows in its own order.
Listing listing_of(const Model& model, Pane pane, WallTime now, const Glyphs& glyphs);

// All details of one row; nullopt if the row is gone.
std::optional<Detail> detail_of(const Model& model, Pane pane, const std::string& row, WallTime now);

// The worker in this row; nullptr if it is gone, or the row is of another pane.
const WorkerStatus* worker_of(const Model& model, const std::string& row);

}  // namespace brood::watch
