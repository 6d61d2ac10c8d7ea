-- Weights a model had before: its uri was replaced, the file is still there. The newest stands in model.uri.
CREATE TABLE model_version (
    model INTEGER NOT NULL,     -- model.n
    uri TEXT NOT NULL,
    place INTEGER NOT NULL,     -- order of being replaced
    replaced INTEGER NOT NULL,  -- ms
    user TEXT NOT NULL,         -- who replaced it
    PRIMARY KEY (model, uri)
) WITHOUT ROWID;
CREATE INDEX model_version_place ON model_version (model, place);
