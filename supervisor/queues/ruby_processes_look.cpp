#include "supervisor/queues/ruby_processes_look.hpp"

#include <utility>

#include "shared/redis/pace.hpp"
#include "shared/store/report/heartbeat_hash.hpp"

namespace brood {

void RubyProcessesLook::look(const Then& then) {
  redis_.send_all(ask_who_may_be_ruby(), longest_answer_time,
                  [this, then](const std::vector<AsyncConnection::Result>& told) {
                    if (!told[0].ok() || !told[1].error.empty()) return then(std::nullopt);
                    const auto identities = read_who_may_be_ruby(told[0].reply.view(), told[1].reply.view());
                    if (!identities) return then(std::nullopt);
                    if (identities->empty()) return then(std::vector<RubyProcess>());
                    ask_of(*identities, then);
                  });
}

void RubyProcessesLook::ask_of(const std::vector<std::string>& identities, const Then& then) {
  std::vector<Command> commands;
  for (const std::string& identity : identities) commands.push_back(ask_info(identity));
  redis_.send_all(commands, longest_answer_time, [identities, then](const std::vector<AsyncConnection::Result>& infos) {
    std::vector<RubyProcess> processes;
    for (std::size_t i = 0; i < infos.size(); ++i) {
      if (!infos[i].error.empty()) return then(std::nullopt);
      if (auto process = read_ruby_process(identities[i], infos[i].reply.view()))
        processes.push_back(std::move(*process));
    }
    then(processes);
  });
}

}  // namespace brood
