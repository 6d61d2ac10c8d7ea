-- Companies, users and their keys. A secret is never stored, only its SHA-256.
CREATE TABLE company (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    created INTEGER NOT NULL            -- ms
) WITHOUT ROWID;

CREATE TABLE user (
    n INTEGER PRIMARY KEY,              -- creation order
    company TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    given_name TEXT,
    family_name TEXT,
    avatar TEXT,
    role TEXT NOT NULL,
    email TEXT,
    preferences TEXT NOT NULL DEFAULT '{}', -- JSON object
    created INTEGER NOT NULL,           -- ms
    created_in_version TEXT,
    UNIQUE (company, id)
);

CREATE TABLE credential (
    n INTEGER PRIMARY KEY,              -- creation order
    company TEXT NOT NULL,
    user TEXT NOT NULL,
    access_key TEXT NOT NULL UNIQUE,
    secret BLOB NOT NULL,               -- SHA-256 of it
    label TEXT,
    created INTEGER NOT NULL,           -- ms
    last_used INTEGER,                  -- ms
    last_used_from TEXT
);
CREATE INDEX credential_user ON credential (company, user);

-- Sessions that were ended before their tokens do.
CREATE TABLE revoked_session (
    company TEXT NOT NULL,
    session TEXT NOT NULL,
    until INTEGER NOT NULL,             -- s since 1970: forget it then
    PRIMARY KEY (company, session)
) WITHOUT ROWID;
