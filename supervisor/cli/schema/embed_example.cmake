# Writes one C++ file with the text of etc/brood.toml as a constant.
file(READ ${FILE} content)
file(WRITE ${OUTPUT} "// Made from etc/brood.toml by embed_example.cmake.
#include \"supervisor/cli/schema/config_schema.hpp\"

namespace brood {

std::string_view example_configuration() { return R\"toml(${content})toml\"; }

}  // namespace brood
")
