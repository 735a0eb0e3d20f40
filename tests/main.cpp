// SPDX-License-Identifier: Apache-2.0
#include "tests/run_catch.hpp"

int main(int argc, char** argv) { return paceline::tests::run_catch({argv, argv + argc}); }
