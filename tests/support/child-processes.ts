import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

interface ChildProcess {
  readonly pid: number;
  readonly words: string;
}

/** The processes that `parent` has started and that have not ended: a minimal Linux has no `ps`, and other systems have no `/proc`. */
export function childProcesses(parent = process.pid): ChildProcess[] {
  return (process.platform === 'linux' ? fromFiles() : fromProgram())
    .filter((one) => one.parent === parent)
    .map(({ pid, words }) => ({ pid, words }));
}

function fromFiles(): (ChildProcess & { readonly parent: number })[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const parent = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1]);
      return [{ pid: Number(name), parent, words: readFileSync(`/proc/${name}/cmdline`, 'utf8') }];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

function fromProgram(): (ChildProcess & { readonly parent: number })[] {
  const list = execFileSync('ps', ['-o', 'pid=,ppid=,args=', '-A'], { encoding: 'utf8' });
  return list.split('\n').map((line) => {
    const [pid = Number.NaN, parent = Number.NaN] = line.trim().split(/\s+/).map(Number);
    return { pid, parent, words: line };
  });
}
