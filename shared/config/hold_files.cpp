#include "shared/config/hold_files.hpp"

#include <unistd.h>

#include <memory>

#include "shared/base/paths.hpp"
#include "shared/config/executable.hpp"
#include "shared/config/password_files.hpp"

namespace brood {
namespace {

void hold_command(const CommandSettings& command, HeldFiles& held) {
  if (const std::string path = executable_path(command.run.at(0)); path.find('/') != path.npos) held.hold(path);
  if (!command.directory.empty()) held.hold(command.directory);
}

void mean_held(CommandSettings& command, const std::shared_ptr<const HeldFiles>& held) {
  command.program = executable_path(command.run.at(0));
  command.held = held;
}

}  // namespace

void hold_files(Config& config, const std::vector<NeededObject>& needed) {
  const auto held = std::make_shared<HeldFiles>();
  for (const std::string& path : config.require) held->hold_library(path);
  for (const NeededObject& object : needed) held->hold_needed(object);
  for (const auto& [name, command] : config.commands) hold_command(command, *held);
  if (config.on_error) hold_command(*config.on_error, *held);
  for (const auto& [version, key] : config.encryption.keys) held->hold(credential_path(key.path));
  config.directory = working_directory::name();
  if (!config.directory.empty()) held->hold(config.directory);
  config.held = held;
  for (auto& [name, command] : config.commands) mean_held(command, held);
  if (config.on_error) mean_held(*config.on_error, held);
}

void enter_directory_of(const Config& config) {
  if (!config.held || config.directory.empty()) return;
  if (chdir(config.held->path_of(config.directory).c_str()) != 0) {
    // The directory did not exist when the configuration was read: the child stays where its parent is.
  }
}

}  // namespace brood
