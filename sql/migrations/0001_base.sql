-- Settings of this data folder, queues with their entries, workers' machine statistics, jobs.
CREATE TABLE setting (
    company TEXT NOT NULL,              -- '' for the server as a whole
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (company, key)
) WITHOUT ROWID;

CREATE TABLE queue (
    seq INTEGER PRIMARY KEY,            -- creation order
    company TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    display_name TEXT,
    created INTEGER NOT NULL,           -- ms
    last_update INTEGER NOT NULL,       -- ms
    tags TEXT NOT NULL DEFAULT '[]',    -- sorted JSON lists
    system_tags TEXT NOT NULL DEFAULT '[]',
    metadata TEXT NOT NULL DEFAULT '{}',-- {key: {key, type, value}}
    resources TEXT,                     -- {cpu_usage, gpu_usage} of the last worker that said so
    length INTEGER NOT NULL DEFAULT 0,  -- how many entries, and
    added_sum INTEGER NOT NULL DEFAULT 0, -- the sum of their `added`: the mean waiting time without a scan
    UNIQUE (company, id),
    UNIQUE (company, name)
);

CREATE TABLE queue_entry (
    queue INTEGER NOT NULL,             -- queue.seq
    place INTEGER NOT NULL,             -- order in the queue; gaps of 2^20 leave room to move an entry between two
    task TEXT NOT NULL,
    added INTEGER NOT NULL,             -- ms
    PRIMARY KEY (queue, place)
) WITHOUT ROWID;
CREATE UNIQUE INDEX queue_entry_task ON queue_entry (task, queue);

-- Entries that queues.get_next_task handed out and whose task gave no sign of life yet.
CREATE TABLE queue_flight (
    company TEXT NOT NULL,
    task TEXT NOT NULL,
    queue INTEGER NOT NULL,
    added INTEGER NOT NULL,
    until INTEGER NOT NULL,             -- ms: goes back to the head of its queue then
    PRIMARY KEY (company, task)
) WITHOUT ROWID;
CREATE INDEX queue_flight_until ON queue_flight (until);

-- At most one sample a queue and second: the one with the longest waiting time.
CREATE TABLE queue_sample (
    queue INTEGER NOT NULL,
    second INTEGER NOT NULL,            -- s since 1970
    time INTEGER NOT NULL,              -- ms
    wait REAL NOT NULL,                 -- s, mean over the entries
    length INTEGER NOT NULL,
    PRIMARY KEY (queue, second)
) WITHOUT ROWID;

CREATE TABLE worker_sample (
    company TEXT NOT NULL,
    worker TEXT NOT NULL,
    time INTEGER NOT NULL,              -- ms, as reported
    user TEXT NOT NULL,
    task TEXT,                          -- NULL: idle
    stats TEXT NOT NULL,                -- machine_stats as sent
    PRIMARY KEY (company, worker, time, user)
) WITHOUT ROWID;
CREATE INDEX worker_sample_time ON worker_sample (company, time, worker, task);

CREATE TABLE worker_property (
    company TEXT NOT NULL,
    worker TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,                -- JSON: {key, value, expiry?}
    expires INTEGER,                    -- ms, NULL: never
    PRIMARY KEY (company, worker, key)
) WITHOUT ROWID;

-- Work that must not be forgotten and may not run in a handler: deletion of files and objects.
CREATE TABLE job (
    id INTEGER PRIMARY KEY,
    company TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,                 -- JSON
    created INTEGER NOT NULL,
    due INTEGER NOT NULL,               -- ms: not before
    attempts INTEGER NOT NULL DEFAULT 0,
    problem TEXT                        -- words of the last failure
);
CREATE INDEX job_due ON job (due);
