"""Where our answers differ from the recorded ones on purpose: (call, place in the answer, why). fnmatch patterns; the
place is "status", "subcode" or a path like data.task.runtime.progress or data.queues[].name, with a + in front for a
field that only we answer."""

DIFFERENCES = [
    ("tasks.get_*", "+data.task*.metric_stats.*",
     "the recorded server forgets all metrics but those of the last batch; ours keeps them"),
    ("tasks.get_by_id", "data.task.unique_metrics[[]]",
     "the recorded server shows the names of metrics only when a projection asks; ours always"),
    ("tasks.edit", "+data.fields.execution.artifacts[[]].display_data",
     "the echo of an edit shows artifacts as they are stored, with the defaults that get_by_id shows too"),
    ("tasks.get_by_id", "+data.task.active_duration",
     "a batch of events that came just before counts as a sign of life here; there it was still on its way"),
    ("workers.*_runtime_properties", "status",
     "the recorded open server has no such calls; ours offers them, and agents live with both"),
]
