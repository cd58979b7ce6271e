#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck has to report SC2086 here.
rm -rf $1/tmp
