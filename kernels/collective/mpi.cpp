// SPDX-License-Identifier: Apache-2.0
#include "kernels/collective/mpi.hpp"

#include "base/error.hpp"
#include "base/module.hpp"
#include "kernels/collective/mpi_module.hpp"
#include "kernels/collective/ranks.hpp"

namespace paceline::kernels {
namespace {

struct Loaded {
  const MpiModule* module = nullptr;
  std::string why;
};

Loaded load() {
  Loaded loaded;
  const auto function = reinterpret_cast<MpiModuleFunction>(
      base::load_module(kMpiModule, kMpiSymbol, "MPI", loaded.why));
  if (function == nullptr) return loaded;
  const MpiModule* module = function();
  if (module->bytes == kMpiModuleBytes) {
    loaded.module = module;
  } else {
    loaded.why = "its module is of another build";
  }
  return loaded;
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

}  // namespace

bool mpi_available(std::string* why) {
  if (why != nullptr) *why = loaded().why;
  return loaded().module != nullptr;
}

void require_mpi() {
  if (mpi_available()) return;
  throw base::MissingError("MPI is not available: " + loaded().why + "; " + mpi_packages());
}

std::string mpi_library() {
  require_mpi();
  return loaded().module->library;
}

Communicator mpi_communicator() {
  require_mpi();
  ProviderHandle world;
  if (const Failure failure = loaded().module->start(world)) throw base::Error("mpi", failure);
  return {*loaded().module->provider, world};
}

Communicator world_communicator() {
  const std::optional<Launch> launched = launch();
  if (!launched) return self_communicator();
  Communicator world = mpi_communicator();
  if (world.size() != launched->ranks)
    throw base::Error(
        launched->launcher,
        "started " + std::to_string(launched->ranks) + " ranks and MPI sees " +
            std::to_string(world.size()),
        "this build's " + mpi_library() + " needs its own mpirun, or srun --mpi=pmix");
  return world;
}

}  // namespace paceline::kernels
