-- Projects. `name` is the whole path; project_tree holds every (ancestor, descendant) pair, a project being its own
-- descendant at depth 0, so that a subtree is one range of an index.
CREATE TABLE project (
    n              INTEGER PRIMARY KEY,        -- order of creation
    id             TEXT NOT NULL UNIQUE,
    company        TEXT NOT NULL,              -- '' = everybody's
    company_origin TEXT,                       -- whose it was before it became everybody's
    user           TEXT NOT NULL,
    name           TEXT NOT NULL,
    basename       TEXT NOT NULL,
    parent         TEXT,
    description    TEXT,
    created        INTEGER NOT NULL,           -- ms, like all times
    last_update    INTEGER NOT NULL,
    tags           TEXT NOT NULL DEFAULT '[]', -- sorted JSON lists
    system_tags    TEXT NOT NULL DEFAULT '[]',
    hidden         INTEGER NOT NULL DEFAULT 0, -- has the system tag
    default_output_destination TEXT,
    featured       INTEGER NOT NULL DEFAULT 9999,
    logo_url       TEXT,
    logo_blob      TEXT,
    UNIQUE (company, name)
);
CREATE INDEX project_parent ON project (parent);
CREATE INDEX project_updated ON project (company, last_update);

CREATE TABLE project_tree (
    ancestor TEXT NOT NULL,
    project  TEXT NOT NULL,
    depth    INTEGER NOT NULL,
    PRIMARY KEY (ancestor, project)
) WITHOUT ROWID;
CREATE UNIQUE INDEX project_tree_up ON project_tree (project, depth, ancestor);
