-- Statements of services/organization.

-- name: organization_runs
-- ?2 projects as a JSON list; ?3 what to group by; ?4 from; ?5 to; ?6 now; ?7 development too
WITH near AS MATERIALIZED ( -- each project once, of several the nearest that was asked for
  SELECT t.project, t.ancestor, min(t.depth)
  FROM (SELECT DISTINCT value FROM json_each(?2)) j JOIN project_tree t ON t.ancestor = j.value GROUP BY t.project),
run AS MATERIALIZED (
  SELECT CASE ?3
           WHEN 'project' THEN near.ancestor
           WHEN 'user' THEN e.user
           ELSE CASE WHEN q.id IS NOT NULL THEN q.id WHEN ifnull(e.queue, '') <> '' THEN '_other_' END
         END AS key,
         max(e.started, ?4) AS started,
         min(CASE WHEN e.status = 'in_progress' THEN ?6 ELSE ifnull(e.completed, e.status_changed) END, ?5) AS stopped,
         CASE WHEN json_type(q.resources, '$.cpu_usage') IN ('integer', 'real')
              THEN json_extract(q.resources, '$.cpu_usage') END AS cpu,
         CASE WHEN json_type(q.resources, '$.gpu_usage') IN ('integer', 'real')
              THEN json_extract(q.resources, '$.gpu_usage') END AS gpu
  FROM near CROSS JOIN task e LEFT JOIN queue q ON q.company = ?1 AND q.id = e.queue
  WHERE e.company IN ('', ?1)
  AND e.project = near.project
  AND e.started < ?5
  AND (e.status = 'in_progress' OR ifnull(e.completed, e.status_changed) > ?4)
  AND e.type NOT IN ('dataset_import', 'annotation', 'annotation_manual', 'report', 'controller')
  AND (?7 OR ifnull(e.queue, '') <> '')
  AND NOT EXISTS (SELECT 1 FROM json_each(e.system_tags) s
                  WHERE s.value IN ('dataset', 'reports', 'hidden') OR (s.value = 'development' AND NOT ?7)))
SELECT key,
       CASE ?3 WHEN 'project' THEN (SELECT p.name FROM project p WHERE p.id = key)
               WHEN 'user' THEN (SELECT u.name FROM user u WHERE u.company = ?1 AND u.id = key)
               ELSE CASE WHEN key = '_other_' THEN 'other'
                    ELSE (SELECT ifnull(k.display_name, k.name) FROM queue k WHERE k.company = ?1 AND k.id = key) END
       END AS name, started, stopped, cpu, gpu
FROM run WHERE stopped >= started ORDER BY name, key; -- the clock may have been put back within a run
