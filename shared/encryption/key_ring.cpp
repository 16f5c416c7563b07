#include "shared/encryption/key_ring.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "shared/base/base64.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/config/password_files.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_key_file = 128;

[[noreturn]] void refuse(const EncryptionSettings::KeyFile& file, const std::string& why) {
  throw KeyError(fmt::format("{}: {} {}", file.place, file.path, why));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

// A file of 32 bytes is the key itself, even if it looks like base64.
Secret key_of(const EncryptionSettings::KeyFile& file, std::string_view bytes) {
  if (bytes.size() == encryption_key_size) return Secret(bytes);
  std::optional<std::string> decoded = read_base64_of_any_kind(trimmed(bytes));
  if (!decoded || decoded->size() != encryption_key_size) {
    if (decoded) wipe(*decoded);
    refuse(file, "holds no key: it must be 32 bytes, or their base64 in one line");
  }
  Secret key(*decoded);
  wipe(*decoded);
  return key;
}

Secret read_key(const EncryptionSettings::KeyFile& file, const Environment& environment) {
  const std::string path = credential_path(file.path, environment);
  const UniqueFd opened(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat status {};
  if (!opened || fstat(opened.get(), &status) != 0)
    refuse(file, "cannot be read: " + std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode)) refuse(file, "is no regular file");
  if ((status.st_mode & (S_IROTH | S_IWOTH)) != 0)
    refuse(file, "can be read or changed by every user of this machine: chmod 0400 it");
  char bytes[longest_key_file + 1];
  const ssize_t count = ::read(opened.get(), bytes, sizeof bytes);
  const int error = errno;
  if (count < 0) refuse(file, "cannot be read: " + std::generic_category().message(error));
  struct Wipe {
    char (&bytes)[longest_key_file + 1];
    ~Wipe() { explicit_bzero(bytes, sizeof bytes); }
  } const wipe_at_end{bytes};
  return key_of(file, {bytes, static_cast<std::size_t>(count)});
}

}  // namespace

KeyRing KeyRing::read(const EncryptionSettings& settings, const Environment& environment) {
  KeyRing ring;
  for (const auto& [version, file] : settings.keys) ring.keys_.emplace(version, read_key(file, environment));
  if (ring.keys_.empty()) return ring;
  ring.active_ = settings.active != 0 ? settings.active : ring.keys_.rbegin()->first;
  if (ring.find(ring.active_) == nullptr)
    throw KeyError(fmt::format("the active key of [encryption] has the version {}, which none has", ring.active_));
  return ring;
}

const Secret* KeyRing::find(int version) const {
  const auto found = keys_.find(version);
  return found == keys_.end() ? nullptr : &found->second;
}

}  // namespace brood
