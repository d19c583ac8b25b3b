import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The number of open descriptors of this process for the path; undefined if the system does not report it. */
export function openDescriptors(path: string): number | undefined {
  if (process.platform !== 'linux') return undefined;
  return readdirSync('/proc/self/fd').filter((fd) => targetOf(fd) === path).length;
}

/** The number of mappings of the path in this process; undefined if the system does not report it. */
export function openMappings(path: string): number | undefined {
  if (process.platform !== 'linux') return undefined;
  return readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .filter((line) => line.endsWith(path)).length;
}

/** The descriptor of the listing itself is already closed. */
function targetOf(fd: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return undefined;
  }
}
