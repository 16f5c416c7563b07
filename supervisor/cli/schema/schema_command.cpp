#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/program.hpp"
#include "supervisor/cli/schema/config_schema.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

constexpr const char* schema_footer =
    R"(Prints a JSON Schema (draft-07) of brood.toml: the keys, the kinds of their values, their bounds and what they mean.  An
editor that knows it completes keys and marks mistakes.  Taplo, and Even Better TOML with it, takes it by the file's
first line: #:schema ./brood.schema.json

Examples:
  brood schema > brood.schema.json)";

}  // namespace

int schema_command(const std::vector<std::string>& args) {
  CommandLine line("Prints a JSON Schema of brood.toml, for editors: brood schema", "brood schema");
  line.footer(schema_footer);
  refuse_arguments(line.parse(args));
  print(config_schema(example_configuration()) + "\n");
  return exit_status::ok;
}

}  // namespace brood
