-- Which tags are in use, without a look at every row: few rows differ in their lists, and the next that does is one seek
-- away (services/answer.c).
CREATE INDEX task_tags ON task (company, tags, system_tags) WHERE tags <> '[]' OR system_tags <> '[]';
CREATE INDEX model_tags ON model (company, tags, system_tags) WHERE tags <> '[]' OR system_tags <> '[]';
