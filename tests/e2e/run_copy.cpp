// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/run_copy.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "base/child_process.hpp"
#include "cli/app.hpp"
#include "tests/temporary_folder.hpp"

namespace paceline::tests {
namespace {

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void send_to(const std::string& path, int descriptor) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(file, descriptor);
  ::close(file);
}

}  // namespace

Ran run_copy(std::vector<std::string> arguments) {
  const scratch::Folder folder;
  const std::string out = folder.file("out"), err = folder.file("err");
  arguments.insert(arguments.begin(), "paceline");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  base::ChildProcess copy([&](int) {
    send_to(out, STDOUT_FILENO);
    send_to(err, STDERR_FILENO);
    const int status = cli::run(static_cast<int>(argv.size()), argv.data());
    std::fflush(nullptr);
    ::_exit(status);
  });
  const base::ChildEnd end = copy.wait();
  return {end.signal != 0 ? 128 + end.signal : end.status, content(out), content(err)};
}

}  // namespace paceline::tests
