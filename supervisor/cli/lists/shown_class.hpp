#pragma once

#include <string>
#include <vector>

#include "shared/classes/published_classes.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {

// Shows what builds publish of a job class, the newest first: for people, and as one JSON object for programs.  `said`
// must not be empty.
std::string shown_class_text(const std::vector<PublishedClasses::Said>& said, const Style& style);
std::string shown_class_json(const std::vector<PublishedClasses::Said>& said);

// "ResizeImage path:string width:integer quality:integer?", as one line.
std::string signature_of(const PublishedClass& known);

// Its queue, retry, timeout and so on, as pairs of a name and a text for people.
std::vector<std::pair<std::string, std::string>> shown_options(const PublishedClass& known);

}  // namespace brood
