-- Models. Documents are small: all in one row.
CREATE TABLE model (
    n               INTEGER PRIMARY KEY,        -- order of creation
    id              TEXT NOT NULL UNIQUE,
    company         TEXT NOT NULL,              -- '' = everybody's
    company_origin  TEXT,
    user            TEXT NOT NULL,
    name            TEXT NOT NULL,
    parent          TEXT,
    project         TEXT,
    task            TEXT,
    created         INTEGER NOT NULL,           -- ms, like all times
    comment         TEXT,
    tags            TEXT NOT NULL DEFAULT '[]', -- sorted JSON lists
    system_tags     TEXT NOT NULL DEFAULT '[]',
    archived        INTEGER NOT NULL DEFAULT 0, -- has the system tag
    uri             TEXT NOT NULL DEFAULT '',
    framework       TEXT,
    design          TEXT NOT NULL DEFAULT '{}',
    labels          TEXT NOT NULL DEFAULT '{}',
    ready           INTEGER NOT NULL,
    ui_cache        TEXT,
    metadata        TEXT NOT NULL DEFAULT '{}', -- {key: {key, type, value}}
    last_update     INTEGER NOT NULL,
    last_change     INTEGER NOT NULL,
    last_changed_by TEXT,
    last_iteration  INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX model_updated ON model (company, last_update);
CREATE INDEX model_created ON model (company, created);
CREATE INDEX model_name ON model (company, name);
CREATE INDEX model_project ON model (company, project, last_update);
CREATE INDEX model_task ON model (task) WHERE task IS NOT NULL;
