#include "supervisor/cli/supervised_page.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <exception>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "supervisor/cli/access/options_for_people.hpp"
#include "supervisor/cli/companion.hpp"
#include "supervisor/upgrade/handover_file.hpp"

namespace brood {
namespace {

constexpr const char* page_program = "brood-web";

// Copies the configuration that runs, since its file may have changed.  Returns a path by which the next program of
// this process can open the copy.
std::string copy_for_companion(const ConfigFile& file) {
  const int copy = check("memfd_create", memfd_create("brood.toml", 0));  // stays open
  check("fchmod", fchmod(copy, file.mode == 0 ? 0600 : file.mode & 0777));
  for (std::size_t written = 0; written < file.text.size();)
    written += static_cast<std::size_t>(check("write", write(copy, &file.text[written], file.text.size() - written)));
  return fmt::format("/proc/self/fd/{}", copy);
}

}  // namespace

PageProgram::PageProgram(const std::optional<HeldFiles::Entry>& left) {
  if (left) {
    path_ = left->path;
    file_.adopt(*left, own_descriptor(left->descriptor));
    return;
  }
  try {
    path_ = path_of_companion(page_program);
    file_.hold(path_);
  } catch (const CompanionMissing&) {  // looked up again when it is needed
  }
}

std::optional<HeldFiles::Entry> PageProgram::entry() const {
  const std::vector<HeldFiles::Entry> files = file_.entries();
  return files.empty() ? std::nullopt : std::optional(files.front());
}

std::string PageProgram::path() const { return path_.empty() ? path_of_companion(page_program) : file_.path_of(path_); }

int become_page(const PageProgram& program, const Config& config, const std::string& config_path,
                const std::vector<std::string>& libraries, const std::optional<std::string>& redis_url) try {
  std::vector<std::string> words = {"--supervised", "yes"};
  words.insert(words.end(), {"--listen", config.web.listen});
  words.insert(words.end(), {"-C", copy_for_companion(config.file)});
  words.insert(words.end(), {"--for-people", options_for_people(config_path, libraries, redis_url.value_or(""))});
  if (config.web.read_only) words.push_back("--read-only");
  if (redis_url) words.insert(words.end(), {"--redis", *redis_url});
  become_companion_at(program.path(), "web", words);
} catch (const std::exception& error) {
  log::error("web_not_started", {{"reason", error.what()}});
  return EX_UNAVAILABLE;
}

}  // namespace brood
