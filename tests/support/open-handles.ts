import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Open descriptors of this process on the given path; undefined where the system does not tell. */
export function openDescriptors(path: string): number | undefined {
  if (process.platform !== 'linux') return undefined;
  return readdirSync('/proc/self/fd').filter((fd) => targetOf(fd) === path).length;
}

/** Mappings of the given path in this process; undefined where the system does not tell. */
export function openMappings(path: string): number | undefined {
  if (process.platform !== 'linux') return undefined;
  return readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .filter((line) => line.endsWith(path)).length;
}

/** The listing's own descriptor is gone when it is looked at. */
function targetOf(fd: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return undefined;
  }
}
