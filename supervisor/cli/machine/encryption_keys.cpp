#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/arguments/verb.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

constexpr const char* keys_footer = R"(Examples:
  brood keys new /etc/brood/key1

The file has 32 random bytes and the mode 0400.  An existing one is never changed: arguments that it has encrypted
would be lost.  Put it into [encryption.keys] of brood.toml(5), wherever such jobs are pushed or performed.)";

constexpr std::size_t key_size = 32;  // of AES-256

struct KeysOrder {
  std::vector<std::string> files;
  bool json = false;
};

// Removes the file again if it cannot be written completely.
class NewKeyFile {
 public:
  explicit NewKeyFile(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400)) {
    if (file_) return;
    const int error = errno;
    const std::string shown = log::printable(path);
    if (error == EEXIST) throw UsageError(shown + " exists already, and was not changed");
    throw UsageError(shown + " cannot be made: " + std::generic_category().message(error));
  }
  ~NewKeyFile() {
    if (!whole_) unlink(path_.c_str());
  }
  NewKeyFile(const NewKeyFile&) = delete;
  NewKeyFile& operator=(const NewKeyFile&) = delete;

  void write(const unsigned char* bytes, std::size_t size) {
    check("fchmod", fchmod(file_.get(), 0400));  // whatever the umask
    if (::write(file_.get(), bytes, size) != static_cast<ssize_t>(size))
      throw std::system_error(errno, std::generic_category(), "write");
    check("fsync", fsync(file_.get()));
    whole_ = true;
  }

 private:
  std::string path_;
  UniqueFd file_;
  bool whole_ = false;
};

int new_key(const KeysOrder& order) {
  if (order.files.size() != 1) throw UsageError("give one file");
  const std::string& path = order.files[0];
  std::array<unsigned char, key_size> key{};
  if (getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size()))
    throw std::system_error(errno, std::generic_category(), "getrandom");
  NewKeyFile(path).write(key.data(), key.size());
  explicit_bzero(key.data(), key.size());
  const std::string absolute = std::filesystem::absolute(path).lexically_normal();
  if (order.json)
    print_json(JsonWriter().text("path", absolute).object() + "\n");
  else
    print(fmt::format("a new key is in {}\n", log::printable(absolute)));
  return exit_status::ok;
}

}  // namespace

int keys_command(const std::vector<std::string>& args) {
  static const std::vector<VerbFor<KeysOrder>> verbs = {
      {{"new", "FILE", "make a key for encrypted arguments", {}}, new_key}};
  KeysOrder order;
  CommandLine line("Keys for encrypted arguments: brood keys new FILE [OPTIONS]", "brood keys");
  line.flag("--json", order.json, "Answer in JSON, for programs");
  const std::vector<Verb> says = only_verbs(verbs);
  line.footer(help_on("keys", says) + "\n" + keys_footer);
  order.files = line.parse(args);
  const std::size_t verb = take_verb(line, says, order.files);
  return verbs[verb].obey(order);
}

}  // namespace brood
