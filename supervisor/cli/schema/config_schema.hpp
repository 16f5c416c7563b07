#pragma once

#include <string>
#include <string_view>

namespace brood {

// A JSON Schema (draft-07) of brood.toml, for editors.  The readers of the configuration make it, so it knows each key,
// the type of its value and its bounds.  `example` is the text of etc/brood.toml: the comment above a key there
// describes the key here.  Throws std::logic_error if a reader leaves out a key of keys_of_section.
std::string config_schema(std::string_view example);

// The text of etc/brood.toml.
std::string_view example_configuration();

}  // namespace brood
