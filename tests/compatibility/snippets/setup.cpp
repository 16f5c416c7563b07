#include <brood/ambient.hpp>
#include <brood/job.hpp>
#include <string>
#include <string_view>

struct Timer {
  explicit Timer(std::string_view job_class);
  ~Timer();
};
struct NightlyReport {
  std::string directory;
  void perform() const;
};
void connect_to_database();
void load_dictionary();
void report(std::string_view jid, std::string_view message);

// SNIPPET
