import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const collect = (() => {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
})();

/** Collects garbage; memory is unmapped shortly after it was found unreachable. */
export async function collectGarbage(pause = 100): Promise<void> {
  collect();
  await setTimeout(pause);
  collect();
}
