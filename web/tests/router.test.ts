// The addresses: our own, and every form an SDK, an old bookmark or an older UI prints.
import { describe, expect, it } from 'vitest';
import { foreignTab, parseRoute, taskPath } from '../src/router';

const task = (tab: string) => ({ page: 'task', project: 'p1', task: 't1', tab });

describe('parseRoute', () => {
  it('knows its own pages', () => {
    expect(parseRoute('/')).toEqual({ page: 'home' });
    expect(parseRoute('/login')).toEqual({ page: 'login' });
    expect(parseRoute('/projects')).toEqual({ page: 'projects' });
    expect(parseRoute('/projects/p1')).toEqual({ page: 'project', project: 'p1' });
    expect(parseRoute('/projects/*/tasks')).toEqual({ page: 'tasks', project: '*' });
    expect(parseRoute('/projects/p1/tasks/t1')).toEqual(task('summary'));
    expect(parseRoute('/projects/p1/tasks/t1/')).toEqual(task('summary'));
    expect(parseRoute('/projects/p1/tasks/t1/console')).toEqual(task('console'));
    expect(parseRoute('/queues/q1')).toEqual({ page: 'queues', queue: 'q1' });
    expect(parseRoute('/workers')).toEqual({ page: 'workers' });
    expect(parseRoute('/nowhere')).toEqual({ page: 'missing' });
  });
  it.each([
    ['/projects/p1/experiments/t1/output/log', '/projects/p1/tasks/t1/console'],
    ['/projects/p1/experiments/t1', '/projects/p1/tasks/t1'],
    ['/projects/p1/experiments/t1/output/metrics/scalar', '/projects/p1/tasks/t1/scalars'],
    ['/projects/p1/experiments/t1/info-output/metrics/plots', '/projects/p1/tasks/t1/plots'],
    ['/projects/p1/experiments/t1/output/debugImages', '/projects/p1/tasks/t1/images'],
    ['/projects/p1/experiments/t1/hyper-params/configuration/General', '/projects/p1/tasks/t1/config'],
    ['/projects/p1/experiments/t1/artifacts/artifact/a/output', '/projects/p1/tasks/t1/artifacts'],
    ['/projects/p1/experiments/t1/general', '/projects/p1/tasks/t1/info'],
    ['/projects/p1/tasks/t1/output/log', '/projects/p1/tasks/t1/console'],
    ['/projects/p1/experiments', '/projects/p1/tasks'],
    ['/tasks/t1/scalars', '/projects/*/tasks/t1/scalars'],
    ['/dashboard', '/'],
    ['/workers-and-queues/queues', '/queues'],
    ['/workers-and-queues/workers', '/workers'],
  ])('leads %s to %s', (from, to) => expect(parseRoute(from)).toEqual({ page: 'redirect', to }));
  it('survives broken escapes and semicolon parameters', () => {
    expect(parseRoute('/projects/%E0%A4%A/tasks')).toEqual({ page: 'tasks', project: '%E0%A4%A' });
    expect(parseRoute('/projects/p1;view=x/tasks')).toEqual({ page: 'tasks', project: 'p1' });
  });
});
it('encodes ids once and keeps the star', () => {
  expect(taskPath('*', 'a/b', 'console')).toBe('/projects/*/tasks/a%2Fb/console');
  expect(parseRoute('/projects/*/tasks/a%2Fb/console')).toEqual({ page: 'task', project: '*', task: 'a/b', tab: 'console' });
});
it('falls back to the summary for tabs it does not know', () => expect(foreignTab(['what', 'ever'])).toBe('summary'));
