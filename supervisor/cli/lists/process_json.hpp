#pragma once

#include <brood/api.hpp>

#include "shared/json/json_writer.hpp"

namespace brood {

enum class TellEmbedded { no, yes };

// What a process says of itself, as members.
JsonWriter& write_process(JsonWriter& json, const Process& process, TellEmbedded tell_embedded);

}  // namespace brood
