import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/**
 * The useful number of worker threads: the physical cores that the process may run on, limited by its cgroup's quota. A
 * second thread on a core shares its arithmetic units, and a thread beyond the quota is suspended in the middle of a
 * phase while the others wait for it.
 */
export function usableCores(root = '/'): number {
  const allowed = allowedProcessors(root);
  const cores = allowed ? physicalCores(root, allowed) : availableParallelism();
  const quota = cgroupQuota(root);
  return Math.max(1, Math.min(cores, availableParallelism(), Math.floor(quota + 0.5)));
}

/** The processors of the affinity mask; undefined if the system does not report it. */
function allowedProcessors(root: string): number[] | undefined {
  const line = read(`${root}proc/self/status`)?.match(/^Cpus_allowed_list:\s*(\S+)/m)?.[1];
  return line === undefined ? undefined : parseList(line);
}

/** `0-3,8` as numbers. */
function parseList(list: string): number[] {
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
}

/** Processors that share a core count once. */
function physicalCores(root: string, processors: readonly number[]): number {
  const cores = processors.map((processor) => {
    const topology = `${root}sys/devices/system/cpu/cpu${processor}/topology/`;
    return read(`${topology}thread_siblings_list`) ?? read(`${topology}core_cpus_list`) ?? `${processor}`;
  });
  return new Set(cores).size;
}

/** The control group's CPU quota, in processors: version 2's file, or version 1's two. */
function cgroupQuota(root: string): number {
  const group = read(`${root}proc/self/cgroup`)?.match(/^0::(.*)$/m)?.[1] ?? '/';
  const quotas = [group, '/'].map((path) => {
    const [quota, period] = read(`${root}sys/fs/cgroup${path}/cpu.max`)?.split(' ') ?? [];
    return ratio(quota, period);
  });
  const old = `${root}sys/fs/cgroup/cpu/cpu.cfs_`;
  return Math.min(...quotas, ratio(read(`${old}quota_us`), read(`${old}period_us`)));
}

function ratio(quota: string | undefined, period: string | undefined): number {
  const value = Number(quota) / Number(period);
  return value > 0 ? value : Number.POSITIVE_INFINITY;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}
