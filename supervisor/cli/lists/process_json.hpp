#pragma once

#include <brood/api.hpp>

#include "shared/json/json_writer.hpp"

namespace brood {

enum class TellEmbedded { no, yes };

// Writes the members of a process's own report.
JsonWriter& write_process(JsonWriter& json, const Process& process, TellEmbedded tell_embedded);

}  // namespace brood
