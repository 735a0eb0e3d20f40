# SPDX-License-Identifier: Apache-2.0
# CMake does the work; these are the words people type first.
PREFIX ?= /usr/local
export PACELINE_BUILD_DIR ?= $(CURDIR)/build

.PHONY: all test install clean
all:
	./paceline build
test:
	./paceline test
install: all
	cmake --install "$(PACELINE_BUILD_DIR)" --prefix "$(PREFIX)"
clean:
	cmake -E rm -rf "$(PACELINE_BUILD_DIR)"
