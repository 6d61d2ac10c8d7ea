-- Events. A stream is one generation of one task's (or model's) events: reset and delete make it not live.
CREATE TABLE event_stream (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    company     TEXT NOT NULL,
    task        TEXT NOT NULL,
    live        INTEGER NOT NULL DEFAULT 1,
    series      INTEGER NOT NULL DEFAULT 0,
    batches     INTEGER NOT NULL DEFAULT 0,
    points      INTEGER NOT NULL DEFAULT 0,
    lines       INTEGER NOT NULL DEFAULT 0,
    log_events  INTEGER NOT NULL DEFAULT 0,
    log_updated INTEGER NOT NULL DEFAULT 0,
    log_chunks  INTEGER NOT NULL DEFAULT 0, -- not joined yet
    log_joined  INTEGER NOT NULL DEFAULT 1, -- chunks before this line are joined
    fold_last   INTEGER NOT NULL DEFAULT 0, -- a fold under way takes the batches up to this one ...
    fold_done   INTEGER NOT NULL DEFAULT 0  -- ... and so many of their series are in chunks
) STRICT;
CREATE UNIQUE INDEX event_stream_task ON event_stream (task) WHERE live = 1;
CREATE INDEX event_stream_retired ON event_stream (id) WHERE live = 0;
CREATE INDEX event_stream_fold ON event_stream (id) WHERE batches >= 64 AND live = 1;
CREATE INDEX event_stream_join ON event_stream (id) WHERE log_chunks >= 64 AND live = 1;

-- Points as they came: one row a request and task (format: store/series_pack.c).
CREATE TABLE metric_batch (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    stream INTEGER NOT NULL,
    points INTEGER NOT NULL,
    body   BLOB NOT NULL
) STRICT;
CREATE INDEX metric_batch_stream ON metric_batch (stream);

-- One row a series; key = md5 (metric) || md5 (variant) in hex. A NULL value with count > 0 is a NaN.
CREATE TABLE series (
    id         INTEGER PRIMARY KEY,
    stream     INTEGER NOT NULL,
    key        TEXT NOT NULL,
    metric     TEXT NOT NULL,
    variant    TEXT NOT NULL,
    hidden     INTEGER NOT NULL,
    label      TEXT,
    updated    INTEGER NOT NULL,
    count      INTEGER NOT NULL,
    finite     INTEGER NOT NULL,
    last       REAL,
    last_iter  INTEGER,
    min        REAL,
    min_iter   INTEGER,
    max        REAL,
    max_iter   INTEGER,
    first      REAL,
    first_iter INTEGER,
    mean       REAL
) STRICT;
CREATE UNIQUE INDEX series_key ON series (stream, key);

-- Folded points: up to 512 of one series, ranges of iterations that do not overlap.
CREATE TABLE metric_chunk (
    id         INTEGER PRIMARY KEY,
    series     INTEGER NOT NULL,
    first_iter INTEGER NOT NULL,
    last_iter  INTEGER NOT NULL,
    points     INTEGER NOT NULL,
    body       BLOB NOT NULL
) STRICT;
CREATE INDEX metric_chunk_series ON metric_chunk (series, first_iter);

-- Console text: events of one request, later joined; lines counted from 1 in order of arrival.
CREATE TABLE log_chunk (
    id         INTEGER PRIMARY KEY,
    stream     INTEGER NOT NULL,
    first_line INTEGER NOT NULL,
    lines      INTEGER NOT NULL,
    events     INTEGER NOT NULL,
    first_time INTEGER NOT NULL,
    last_time  INTEGER NOT NULL,
    size       INTEGER NOT NULL,
    body       BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX log_chunk_line ON log_chunk (stream, first_line);
CREATE INDEX log_chunk_last ON log_chunk (stream, last_time, first_time);
CREATE INDEX log_chunk_first ON log_chunk (stream, first_time, last_time);

-- How far an agent's run has been stored: sending a line twice stores it once.
CREATE TABLE log_run (
    id     INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL,
    run    TEXT NOT NULL,
    upto   INTEGER NOT NULL,
    UNIQUE (stream, run)
) STRICT;

-- Plots, images, vectors: one row an event; the same identity again replaces it.
CREATE TABLE event_row (
    id       INTEGER PRIMARY KEY,
    stream   INTEGER NOT NULL,
    type     INTEGER NOT NULL,
    identity TEXT NOT NULL, -- md5 of what makes it the same event
    metric   TEXT NOT NULL,
    variant  TEXT NOT NULL,
    iter     INTEGER,
    time     INTEGER NOT NULL,
    received INTEGER NOT NULL,
    url      TEXT,
    doc      BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_row_identity ON event_row (stream, type, identity);
CREATE INDEX event_row_metric ON event_row (stream, type, metric, variant, iter, received);
