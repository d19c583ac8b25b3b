import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const collect = (() => {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
})();

/** Collects what nobody holds any more; its memory is unmapped a moment after it was found to be garbage. */
export async function collectGarbage(pause = 100): Promise<void> {
  collect();
  await setTimeout(pause);
  collect();
}
