/* sdkconf.h - settings of the SDK that every clearml.conf we write holds.
 *
 * The SDK reports from a second process, forked while it looks for the repository. That process can inherit the pipe of a
 * git at work: the search then waits five minutes for the pipe's end, and no repository is recorded (SDK 2.1.12). The
 * process also costs some twelve seconds at the end of each run. A thread does as well. */
#pragma once

#define SDK_SETTINGS                                                                                         \
    "\n# a thread reports: the SDK's second process may hold up the search for the repository\n"             \
    "sdk.development.report_use_subprocess: false\n"
