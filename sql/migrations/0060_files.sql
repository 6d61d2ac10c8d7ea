-- Uploaded files. The bytes lie in DATA/files/<first two digits>/<blob>; path is what the client calls it.
CREATE TABLE file (
    company TEXT NOT NULL,
    path TEXT NOT NULL,
    blob TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    type TEXT NOT NULL,
    created INTEGER NOT NULL,           -- ms
    user TEXT NOT NULL,
    PRIMARY KEY (company, path)
) WITHOUT ROWID;
