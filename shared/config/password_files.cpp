#include "shared/config/password_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "shared/base/check.hpp"
#include "shared/config/redis_location.hpp"

namespace brood {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "redis-password.";  // and the pid of the owner, who has locked it

// The password of each shard, or of the only Redis; empty if no file is needed.
std::vector<Secret> passwords_to_share(const RedisSettings& settings) {
  std::vector<Secret> passwords;
  if (!settings.share_with_jobs || settings.share_password_in_url) return passwords;
  for (const RedisAddress& address : locate_shards(settings)) {
    const std::size_t i = passwords.size();
    const bool has_file = !settings.password_file.empty() ||
                          (!settings.shard_list.empty() && !settings.shard_list[i].password_file.empty());
    passwords.push_back(has_file ? Secret() : address.password);
  }
  return passwords;
}

}  // namespace

PasswordFiles::PasswordFiles(const RedisSettings& settings, const std::string& directory)
    : owner_(getpid()), directory_(fs::absolute(directory)) {
  for (const Secret& password : passwords_to_share(settings)) add(password);
  keep();
}

PasswordFiles::~PasswordFiles() {
  if (getpid() != owner_) return;
  for (const File& file : files_) {
    if (!file.path.empty()) unlink(file.path.c_str());
  }
}

void PasswordFiles::add(const Secret& password) {
  if (password.empty()) return files_.push_back({});
  if (fs::create_directories(directory_)) check("chmod", chmod(directory_.c_str(), 0700));
  if (std::all_of(files_.begin(), files_.end(), [](const File& file) { return file.path.empty(); }))
    remove_those_of_the_dead();
  const std::string number = files_.empty() ? "" : "." + std::to_string(files_.size());
  files_.push_back(write(password, std::string(prefix) + std::to_string(owner_) + number));
}

PasswordFiles::File PasswordFiles::write(const Secret& password, const std::string& name) {
  File file{directory_ + "/" + name};
  const std::string fresh = directory_ + "/." + name;
  unlink(fresh.c_str());
  file.lock.reset(check("open", open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0400)));
  check("flock", flock(file.lock.get(), LOCK_EX | LOCK_NB));
  const std::string_view text = password.view();
  if (check("write", ::write(file.lock.get(), text.data(), text.size())) != static_cast<ssize_t>(text.size()))
    throw std::system_error(ENOSPC, std::generic_category(), fresh);
  check("rename", rename(fresh.c_str(), file.path.c_str()));
  return file;
}

// Files with our own pid are those of the program that we took over from.  They are replaced, not removed, so that jobs
// find them at every moment.
void PasswordFiles::remove_those_of_the_dead() const {
  const std::string ours = std::string(prefix) + std::to_string(owner_);
  std::error_code error;
  for (fs::directory_iterator entry(directory_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(prefix) || name == ours || name.starts_with(ours + ".")) continue;
    const UniqueFd file(open(entry->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file && flock(file.get(), LOCK_EX | LOCK_NB) == 0) unlink(entry->path().c_str());
  }
}

void PasswordFiles::name_in(RedisSettings& settings) {
  for (; files_.size() > kept_; files_.pop_back()) {
    if (!files_.back().path.empty()) unlink(files_.back().path.c_str());
  }
  const std::vector<Secret> passwords = passwords_to_share(settings);
  for (std::size_t i = files_.size(); i < passwords.size(); ++i) add(passwords[i]);
  if (settings.shard_list.empty() && !files_.empty()) settings.private_password_file = files_.front().path;
  for (std::size_t i = 0; i < std::min(settings.shard_list.size(), files_.size()); ++i)
    settings.shard_list[i].private_password_file = files_[i].path;
}

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
