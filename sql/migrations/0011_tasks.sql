-- Tasks. `task` has what lists sort and filter by and what changes often, so that a change of status is one small
-- UPDATE; `task_doc` has the documents as the JSON text we answer; parameters and models stand also in side tables.
CREATE TABLE task (
    n                  INTEGER PRIMARY KEY,        -- order of creation
    id                 TEXT NOT NULL UNIQUE,
    company            TEXT NOT NULL,              -- '' = everybody's
    company_origin     TEXT,
    user               TEXT NOT NULL,
    name               TEXT NOT NULL,
    type               TEXT NOT NULL,
    status             TEXT NOT NULL,
    status_reason      TEXT,
    status_message     TEXT,
    status_changed     INTEGER,                    -- ms, like all times
    comment            TEXT,
    created            INTEGER NOT NULL,
    started            INTEGER,
    completed          INTEGER,
    published          INTEGER,
    active_duration    INTEGER,                    -- s
    parent             TEXT,
    project            TEXT,
    queue              TEXT,                       -- shown as execution.queue
    enqueued           INTEGER,                    -- when it last went into a queue
    enqueue_status     TEXT,                       -- the status before it was queued
    tags               TEXT NOT NULL DEFAULT '[]', -- sorted JSON lists
    system_tags        TEXT NOT NULL DEFAULT '[]',
    hidden             INTEGER NOT NULL DEFAULT 0, -- has the system tag
    archived           INTEGER NOT NULL DEFAULT 0, -- has the system tag
    last_update        INTEGER NOT NULL,
    last_change        INTEGER NOT NULL,
    last_changed_by    TEXT,
    last_iteration     INTEGER NOT NULL DEFAULT 0,
    last_worker        TEXT,
    last_worker_report INTEGER,
    claim              TEXT                        -- token the claiming agent made
);
CREATE INDEX task_updated ON task (company, last_update);
CREATE INDEX task_created ON task (company, created);
CREATE INDEX task_name ON task (company, name);
CREATE INDEX task_status ON task (company, status, last_update);
CREATE INDEX task_project_updated ON task (company, project, last_update);
CREATE INDEX task_project_created ON task (company, project, created);
CREATE INDEX task_project_name ON task (company, project, name);
CREATE INDEX task_counts ON task (company, project, archived, status, hidden, started, completed);
CREATE INDEX task_running ON task (last_update) WHERE status = 'in_progress';
CREATE INDEX task_parent ON task (parent) WHERE parent IS NOT NULL;
CREATE UNIQUE INDEX task_claim ON task (claim) WHERE claim IS NOT NULL;

CREATE TABLE task_doc (
    task          INTEGER PRIMARY KEY, -- task.n
    script        TEXT,
    execution     TEXT NOT NULL,       -- without queue
    hyperparams   TEXT NOT NULL,
    configuration TEXT NOT NULL,
    models        TEXT NOT NULL,
    output        TEXT NOT NULL,
    container     TEXT NOT NULL,
    runtime       TEXT NOT NULL,
    report        TEXT,
    report_assets TEXT NOT NULL DEFAULT '[]'
);

CREATE TABLE task_param (
    task    INTEGER NOT NULL, -- task.n
    section TEXT NOT NULL,
    name    TEXT NOT NULL,
    value   TEXT,
    key     BLOB,             -- sort key of value
    PRIMARY KEY (task, section, name)
) WITHOUT ROWID;

CREATE TABLE task_model (
    task  INTEGER NOT NULL,   -- task.n
    kind  TEXT NOT NULL,      -- input, output
    model TEXT NOT NULL,
    PRIMARY KEY (task, kind, model)
) WITHOUT ROWID;
CREATE INDEX task_model_model ON task_model (model, kind);

-- What the agent that runs a task reported of its stages.
CREATE TABLE task_stage (
    task    INTEGER NOT NULL, -- task.n
    place   INTEGER NOT NULL, -- order
    name    TEXT NOT NULL,
    started INTEGER,
    ended   INTEGER,
    ok      INTEGER,
    detail  TEXT,
    PRIMARY KEY (task, place)
) WITHOUT ROWID;
