// Artifacts and models of a task as one list, newest first, each with a link that is safe to follow or none.
import type { Model, Task } from '../api/types';
import { safeHref } from './url';

export interface Item {
  key: string;
  kind: string;
  group: 'output model' | 'input model' | 'artifact';
  size: number | null;
  time: number;
  href: string | null;
  uri: string;
  hash: string;
  preview: string;
  modelId: string | null;
}

export function artifactItems(t: Task, models: Map<string, Model>): Item[] {
  const out: Item[] = [];
  for (const [dir, list] of [
    ['output', t.models?.output ?? []],
    ['input', t.models?.input ?? []],
  ] as const) {
    const seen = new Set<string>();
    for (const r of list) {
      const id = typeof r.model === 'string' ? r.model : r.model?.id;
      const m = (typeof r.model === 'object' ? r.model : undefined) ?? (id ? models.get(id) : undefined);
      // A client names a model anew with each file it saves: it is still one model, its earlier files are its versions.
      if (id && seen.has(id)) continue;
      if (id) seen.add(id);
      const uri = m?.uri ?? models.get(id ?? '')?.uri ?? '';
      out.push({
        key: m?.name || r.name,
        kind: `model · ${dir}`,
        group: `${dir} model`,
        size: null,
        time: m?.created ? Date.parse(m.created) : NaN,
        href: safeHref(uri),
        uri,
        hash: '',
        preview: '',
        modelId: id ?? null,
      });
    }
  }
  for (const a of t.execution?.artifacts ?? [])
    out.push({
      key: a.key,
      kind: a.type || 'file',
      group: 'artifact',
      size: a.content_size || null,
      time: a.timestamp ? (a.timestamp < 1e11 ? a.timestamp * 1000 : a.timestamp) : NaN,
      href: safeHref(a.uri),
      uri: a.uri ?? '',
      hash: a.hash ?? '',
      preview: a.type_data?.preview ?? '',
      modelId: null,
    });
  return out;
}
