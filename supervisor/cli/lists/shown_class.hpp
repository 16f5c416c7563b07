#pragma once

#include <string>
#include <vector>

#include "shared/classes/published_classes.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {

// What builds say of a job class, the newest first: for people, and as one JSON object for programs.  `said` has one at
// least.
std::string shown_class_text(const std::vector<PublishedClasses::Said>& said, const Style& style);
std::string shown_class_json(const std::vector<PublishedClasses::Said>& said);

// "ResizeImage path:string width:integer quality:integer?", as one line.
std::string signature_of(const PublishedClass& known);

// Its queue, retry, timeout and the rest, each a name and what people read.
std::vector<std::pair<std::string, std::string>> shown_options(const PublishedClass& known);

}  // namespace brood
