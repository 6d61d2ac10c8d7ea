"""Where our answers differ from the recorded ones on purpose: (call, place in the answer, why). fnmatch patterns; the
place is "status", "subcode" or a path like data.task.runtime.progress or data.queues[].name."""

DIFFERENCES = [
]
