#pragma once

#include "shared/config/reading/config_section.hpp"

namespace brood {

// Reads [web].  Refuses settings that would let in any client.
void read_web(const ConfigSection& section, WebSettings& web);

// Reads show_args of [web] or of a class.
void read_show_args(const ConfigSection& section, ShowArgs& out);

}  // namespace brood
