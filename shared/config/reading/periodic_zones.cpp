#include "shared/config/reading/periodic_zones.hpp"

#include "shared/config/config_file.hpp"
#include "shared/periodic/zone.hpp"

namespace brood {

void check_zones(const std::map<std::string, PeriodicSettings>& jobs) {
  for (const auto& [name, job] : jobs) {
    if (Zone::find(job.zone)) continue;
    const auto meant = Zone::like(job.zone);
    setting::Place{job.place}.refuse("this machine knows no time zone \"" + job.zone + "\"" +
                                     (meant ? "; did you mean \"" + *meant + "\"?" : ""));
  }
}

}  // namespace brood
