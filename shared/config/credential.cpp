#include "shared/config/credential.hpp"

#include <string_view>

namespace brood {

std::string credential_path(const std::string& path, const Environment& environment) {
  if (!names_credential(path)) return path;
  const char* const directory = environment("CREDENTIALS_DIRECTORY");
  const bool is_given = directory != nullptr && *directory != '\0';
  return (is_given ? std::string(directory) : "/run/credentials/brood.service") +
         path.substr(path.find(':')).replace(0, 1, "/");
}

TlsSettings with_paths(TlsSettings settings, const Environment& environment) {
  for (TlsSettings::File* const file : {&settings.ca, &settings.cert, &settings.key})
    file->path = credential_path(file->path, environment);
  return settings;
}

}  // namespace brood
