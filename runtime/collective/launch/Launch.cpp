//===- Launch.cpp - one process per rank, as a launcher has started them ---------===//
#include "runtime/collective/launch/Launch.h"
#include "runtime/base/Text.h"
#include "runtime/collective/mpi/MpiLink.h"
#include "runtime/collective/process/ProcessWorld.h"
#include "runtime/collective/socket/Rendezvous.h"
#include "runtime/collective/socket/Secret.h"
#include "runtime/collective/socket/SocketLink.h"

#include <charconv>
#include <cstring>

namespace sluice {
namespace {

constexpr int maxWorld = 4096;

Status usage(std::string message) { return {StatusCode::usage, std::move(message)}; }

class Variables {
public:
  explicit Variables(const Environment &environment) : environment(environment) {}

  bool has(const char *name) const { return environment(name) != nullptr; }
  std::string text(const char *name) const {
    const char *value = environment(name);
    return value ? value : "";
  }
  /// An integer within [low, high].
  Result<int> number(const char *name, int low, int high) const {
    const std::string value = text(name);
    int result = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || end != value.data() + value.size() || result < low || result > high)
      return usage(
          "environment variable " + std::string(name) + ", expected " +
          (low == high ? std::to_string(low) : "a number from " + std::to_string(low) + " to " + std::to_string(high)) +
          " but got '" + value + "'");
    return result;
  }

private:
  const Environment &environment;
};

Result<Launch> rankOf(const Variables &variables, const char *rankName, const char *sizeName) {
  Launch launch;
  SLUICE_ASSIGN_OR_RETURN(launch.size, variables.number(sizeName, 1, maxWorld));
  SLUICE_ASSIGN_OR_RETURN(launch.rank, variables.number(rankName, 0, launch.size - 1));
  return launch;
}

Status readAddress(const Variables &variables, Launch &launch) {
  launch.address = variables.text("MASTER_ADDR");
  SLUICE_ASSIGN_OR_RETURN(int port, variables.number("MASTER_PORT", 1, 65535));
  // torchrun's own store may listen at the port that it names; the next one is ours.
  if (variables.text("TORCHELASTIC_USE_AGENT_STORE") == "True")
    port = port == 65535 ? 1024 : port + 1;
  launch.port = static_cast<std::uint16_t>(port);
  return {};
}

Result<Launch> readTorchrun(const Variables &variables) {
  SLUICE_ASSIGN_OR_RETURN(Launch launch, rankOf(variables, "RANK", "WORLD_SIZE"));
  launch.launcher = "torchrun";
  launch.oneMachine = variables.text("LOCAL_WORLD_SIZE") == std::to_string(launch.size);
  if (!variables.has("MASTER_ADDR") || !variables.has("MASTER_PORT"))
    return usage("missing MASTER_ADDR or MASTER_PORT in the environment of a launcher that sets RANK");
  SLUICE_RETURN_IF_ERROR(readAddress(variables, launch));
  return launch;
}

Result<Launch> readSrun(const Variables &variables) {
  SLUICE_ASSIGN_OR_RETURN(Launch launch, rankOf(variables, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"));
  launch.launcher = "srun";
  launch.oneMachine = variables.text("SLURM_STEP_NUM_NODES") == "1";
  if (variables.has("MASTER_ADDR") && variables.has("MASTER_PORT")) {
    SLUICE_RETURN_IF_ERROR(readAddress(variables, launch));
    return launch;
  }
  if (!launch.oneMachine)
    return usage("missing MASTER_ADDR or MASTER_PORT of rank 0 in the environment of srun over several machines");
  // Each step of a job gets a different port.
  SLUICE_ASSIGN_OR_RETURN(int job, variables.number("SLURM_JOB_ID", 0, 2147483647));
  SLUICE_ASSIGN_OR_RETURN(int step, variables.number("SLURM_STEP_ID", 0, 2147483647));
  launch.address = "127.0.0.1";
  launch.port = static_cast<std::uint16_t>(20000 + (static_cast<std::uint64_t>(job) * 16 + step % 16) % 20000);
  return launch;
}

bool isLoopback(const std::string &address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

Result<std::unique_ptr<process::Link>> openSocketLink(const Launch &launch, const LaunchOptions &options) {
  socket::RendezvousOptions rendezvous;
  rendezvous.rank = launch.rank;
  rendezvous.size = launch.size;
  rendezvous.address = launch.address;
  rendezvous.port = launch.port;
  rendezvous.seconds = options.joinSeconds;
  if (!options.listen.empty())
    rendezvous.listen = options.listen;
  else if (launch.oneMachine || isLoopback(launch.address))
    rendezvous.address = rendezvous.listen = "127.0.0.1";
  else
    return usage("missing option '--listen ADDRESS' (this machine's, or 0.0.0.0) for ranks on several machines");
  if (options.secretFile.empty() && !isLoopback(rendezvous.listen))
    return usage(concat("missing option '--secret-file FILE' for ranks that listen at ", rendezvous.listen))
        .withNote("give every rank the same file: head -c 32 /dev/urandom > FILE; chmod 600 FILE");
  SLUICE_ASSIGN_OR_RETURN(rendezvous.secret, options.secretFile.empty() ? socket::readUserSecret()
                                                                        : socket::readSecretFile(options.secretFile));
  SLUICE_ASSIGN_OR_RETURN(std::vector<socket::Socket> connections, socket::connectRanks(rendezvous));
  return socket::createSocketLink(launch.rank, std::move(connections));
}

Result<std::unique_ptr<process::Link>> openMpiLink(const Launch &launch, const LaunchOptions &options) {
  SLUICE_RETURN_IF_ERROR(mpi::begin({options.joinSeconds, options.endProcess}));
  if (mpi::worldSize() != launch.size || mpi::worldRank() != launch.rank)
    return failedError("world of mpi, expected rank " + std::to_string(launch.rank) + " of " +
                       std::to_string(launch.size) + " as the launcher says but got rank " +
                       std::to_string(mpi::worldRank()) + " of " + std::to_string(mpi::worldSize()));
  return mpi::createMpiLink(launch.size);
}

} // namespace

Result<std::optional<Launch>> readLaunch(const Environment &environment, const LaunchOptions &options) {
  const Variables variables(environment);
  const std::string &requested = options.communicator;
  std::optional<Launch> launch;
  if (requested == "local")
    return launch;
  const bool torchrun = variables.has("RANK") && variables.has("WORLD_SIZE");
  // A batch script has SLURM_PROCID too: only a step has a number of tasks. One task is how any program is run there.
  const bool srun = variables.has("SLURM_PROCID") && variables.has("SLURM_STEP_NUM_TASKS") &&
                    variables.text("SLURM_STEP_NUM_TASKS") != "1";
  const bool mpirun = variables.has("OMPI_COMM_WORLD_RANK") && variables.has("OMPI_COMM_WORLD_SIZE");
  if (mpirun && requested != "socket") {
    SLUICE_ASSIGN_OR_RETURN(launch, rankOf(variables, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"));
    launch->launcher = "mpirun";
    launch->transport = Transport::mpi;
    launch->oneMachine = variables.text("OMPI_COMM_WORLD_LOCAL_SIZE") == std::to_string(launch->size);
  } else if (requested == "mpi") {
    return usage("'--communicator mpi' requires a process started by mpirun: missing OMPI_COMM_WORLD_RANK");
  } else if (variables.has("RANK") && !torchrun) {
    return usage("missing WORLD_SIZE in an environment that has RANK")
        .withNote("set both, as torchrun does, or start the ranks as threads with --communicator local");
  } else if (torchrun) {
    SLUICE_ASSIGN_OR_RETURN(launch, readTorchrun(variables));
  } else if (srun) {
    SLUICE_ASSIGN_OR_RETURN(launch, readSrun(variables));
  } else if (requested == "socket") {
    return usage("'--communicator socket' requires RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in the environment");
  }
  return launch;
}

Result<std::shared_ptr<World>> openWorld(const Launch &launch, const LaunchOptions &options) {
  Result<std::unique_ptr<process::Link>> link =
      launch.transport == Transport::mpi ? openMpiLink(launch, options) : openSocketLink(launch, options);
  if (!link.isOk())
    return link.takeStatus();
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<process::ProcessWorld> world,
                          process::ProcessWorld::create(std::move(*link), {options.watchdogSeconds}));
  SLUICE_RETURN_IF_ERROR(world->waitForHellos());
  const bool mpi = launch.transport == Transport::mpi;
  return std::shared_ptr<World>(world.release(), [mpi](World *last) {
    const bool orderly = static_cast<process::ProcessWorld *>(last)->end();
    delete last;
    // MPI would wait for a process that has died.
    if (mpi && orderly)
      mpi::end();
  });
}

} // namespace sluice
