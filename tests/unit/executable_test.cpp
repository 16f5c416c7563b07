#include "shared/config/executable.hpp"

#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>

#include "shared/config/reading/load_config.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

struct InDirectory {
  TemporaryDirectory directory;
  std::string file(const std::string& name, mode_t mode) const {
    const std::string path = directory.write(name, "#!/bin/sh\n");
    chmod(path.c_str(), mode);
    return path;
  }
  std::string complaint(const std::string& settings) const {
    const std::string path = directory.write("brood.toml", "[commands.A]\n" + settings + "\n");
    try {
      require_programs(load_config(path, {}));
      return "";
    } catch (const ConfigError& error) {
      const std::string what = error.what();
      return what.starts_with(path + ":") ? what.substr(path.size() + 1) : what;
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_name_is_looked_for_in_path_and_never_in_the_working_directory) {
  const InDirectory in;
  const std::string program = in.file("brood-test-program", 0755);
  in.file("brood-test-text", 0644);
  const std::string before = std::getenv("PATH");
  setenv("PATH", ("/nowhere:" + in.directory.path() + "::" + before).c_str(), 1);
  BOOST_TEST(executable_path("brood-test-program") == program);
  BOOST_TEST(executable_path("brood-test-text") == "brood-test-text");
  BOOST_TEST(executable_path("/bin/sh") == "/bin/sh");
  setenv("PATH", before.c_str(), 1);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_executed_is_a_configuration_error_with_its_place) {
  const InDirectory in;
  const std::string text = in.file("text", 0644), program = in.file("program", 0755);
  const std::string here = in.directory.path();
  BOOST_TEST(in.complaint("run = ['" + program + "']") == "");
  BOOST_TEST(in.complaint("run = ['sh']") == "");
  BOOST_TEST(in.complaint("run = ['/nowhere/x']") == "2: commands.A.run: /nowhere/x: No such file or directory");
  BOOST_TEST(in.complaint("run = ['" + here + "']") == "2: commands.A.run: " + here + ": is no regular file");
  BOOST_TEST(in.complaint("run = ['" + text + "']") ==
             "2: commands.A.run: " + text + ": cannot be executed: Permission denied");
  BOOST_TEST(in.complaint("run = ['brood-no-such-program']") ==
             "2: commands.A.run: no program brood-no-such-program in PATH");
  BOOST_TEST(in.complaint("run = ['sh']\ndirectory = '/nowhere'") ==
             "2: commands.A.run: its directory /nowhere is not there");
}
