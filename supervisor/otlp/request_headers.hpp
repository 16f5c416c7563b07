#pragma once

#include <string>

namespace brood {

// The extra headers of a request, from a file of "Name: value" lines; each ends with CRLF.  Throws std::runtime_error
// if the file cannot be read or contains anything else.
std::string read_headers(const std::string& path);

}  // namespace brood
