// The documents inside answers (tasks, projects, queues …): the API description leaves their members open, so what the
// page reads of them stands here. Calls themselves are typed by generated.ts, which the build makes from api/*.api.
import type { Histogram } from '../charts/curves';
import type { XEventsCurve, XTasksStage, XTasksTimelineOut } from './generated';

export type XSeries = XEventsCurve;
export type Stage = XTasksStage;
export type Timeline = XTasksTimelineOut;

export type ApiStatus =
  'created' | 'queued' | 'in_progress' | 'stopped' | 'published' | 'publishing' | 'closed' | 'failed' | 'completed' | 'unknown';
export interface Named {
  id: string;
  name?: string;
}
export interface Param {
  section?: string;
  name?: string;
  value?: string;
  type?: string;
  description?: string;
}
export interface ConfigItem {
  name?: string;
  value?: string;
  type?: string;
  description?: string;
}
export interface LastMetric {
  metric?: string;
  variant?: string;
  value?: unknown;
  min_value?: unknown;
  min_value_iteration?: number;
  max_value?: unknown;
  max_value_iteration?: number;
  first_value?: unknown;
  mean_value?: unknown;
  count?: number;
}
export interface Artifact {
  key: string;
  type?: string;
  mode?: 'input' | 'output';
  uri?: string;
  content_size?: number;
  hash?: string;
  timestamp?: number;
  type_data?: { preview?: string; content_type?: string; data_hash?: string };
  display_data?: string[][];
}
export interface Model {
  id: string;
  name?: string;
  uri?: string;
  framework?: string;
  ready?: boolean;
  created?: string;
  labels?: Record<string, number>;
  design?: unknown;
  tags?: string[];
}
export interface ModelRef {
  name: string;
  model: string | Model;
}
export interface Script {
  binary?: string;
  repository?: string;
  tag?: string;
  branch?: string;
  version_num?: string;
  entry_point?: string;
  working_dir?: string;
  requirements?: Record<string, unknown>;
  diff?: string;
}

export interface Task {
  id: string;
  name?: string;
  type?: string;
  status?: ApiStatus;
  status_reason?: string;
  status_message?: string;
  status_changed?: string;
  comment?: string;
  created?: string;
  started?: string;
  completed?: string;
  published?: string;
  last_update?: string;
  last_change?: string;
  last_iteration?: number;
  active_duration?: number;
  last_worker?: string;
  last_worker_report?: string;
  tags?: string[];
  system_tags?: string[];
  user?: Named;
  project?: Named;
  parent?: Named | string;
  execution?: { queue?: Named; artifacts?: Artifact[]; docker_cmd?: string; framework?: string };
  container?: { image?: string; arguments?: string; setup_shell_script?: string };
  output?: { destination?: string };
  models?: { input?: ModelRef[]; output?: ModelRef[] };
  script?: Script;
  hyperparams?: Record<string, Record<string, Param>>;
  configuration?: Record<string, ConfigItem>;
  last_metrics?: Record<string, Record<string, LastMetric>>;
  runtime?: Record<string, unknown>;
}

export type StatusCount = Partial<Record<ApiStatus, number>>;
export interface ProjectStats {
  status_count?: StatusCount;
  total_tasks?: number;
  total_runtime?: number;
  last_task_run?: string | null;
  completed_tasks_24h?: number;
}
export interface Project {
  id: string;
  name: string;
  basename?: string;
  description?: string;
  created?: string;
  last_update?: string;
  tags?: string[];
  system_tags?: string[];
  stats?: { active?: ProjectStats; archived?: ProjectStats };
  sub_projects?: Named[];
  x_children?: number;
  own_tasks?: number;
}

export interface QueueEntry {
  task?: Named | string;
  added?: string;
}
export interface QueueWorker {
  id?: string;
  name?: string;
  ip?: string;
  task?: Named;
  key?: string;
}
export interface Queue {
  id: string;
  name: string;
  display_name?: string;
  created?: string;
  tags?: string[];
  system_tags?: string[];
  entries?: QueueEntry[];
  workers?: QueueWorker[];
}
export interface Worker {
  id: string;
  user?: Named;
  ip?: string;
  register_time?: string;
  last_activity_time?: string;
  last_report_time?: string;
  task?: Named & { running_time?: number; last_iteration?: number };
  project?: Named;
  queue?: Named;
  queues?: Array<Named & { num_tasks?: number }>;
  tags?: string[];
  system_tags?: string[];
}

export interface LogEvent {
  timestamp: number;
  level?: string;
  msg: string;
  worker?: string;
}
export interface PlotEvent {
  metric: string;
  variant: string;
  iter?: number;
  plot_str?: string;
  timestamp?: number;
  plot_len?: number;
}
export interface ImageEvent {
  metric: string;
  variant: string;
  iter: number;
  url?: string;
  key?: string;
  timestamp?: number;
}
export interface MetricPage<E> {
  metrics: Array<{ task?: string; iterations: Array<{ iter: number; events: E[] }> }>;
  scroll_id?: string;
}

export interface User {
  id: string;
  name?: string;
  given_name?: string;
  family_name?: string;
  role?: string;
  company?: Named;
}

/** Members of answers that are documents. */
export interface Documents {
  'tasks.clone': { id: string };
  'queues.create': { id: string };
  'tasks.get_all_ex': { tasks: Task[] };
  'projects.get_all_ex': { projects: Project[] };
  'projects.get_by_id': { project: Project };
  'queues.get_all_ex': { queues: Queue[] };
  'workers.get_all': { workers: Worker[] };
  'models.get_all_ex': { models: Model[] };
  'models.get_by_id': { model: Model };
  'users.get_current_user': { user: User };
  'events.get_task_log': { events: LogEvent[]; returned: number; total: number };
  'events.get_task_plots': { plots: PlotEvent[] };
  'events.debug_images': MetricPage<ImageEvent>;
  'events.scalar_metrics_iter_histogram': Histogram;
  'events.get_task_single_value_metrics': {
    tasks: Array<{ task: string; values: Array<{ metric: string; variant: string; value: unknown }> }>;
  };
}
