#include <brood/batch.hpp>
#include <brood/job.hpp>
#include <string>
#include <vector>

struct ImportRow {
  std::string row;
  void perform() const {}
};

struct NotifyUser {
  int user = 0;
  void perform() const {}
};

void import_rows(const std::vector<std::string>& rows) {
  // SNIPPET
}
