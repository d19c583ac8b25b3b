import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { type LoadModelOptions, loadModel } from '../../src/node/load-model.ts';
import { collectGarbage } from './collect-garbage.ts';

/** What a process holds after garbage collection. */
export interface Held {
  readonly mebibytes: number;
  readonly descriptors: number;
  readonly threads: number;
}

/** What this process holds now. */
export async function held(): Promise<Held> {
  await collectGarbage();
  const count = (path: string) => (process.platform === 'linux' ? readdirSync(path).length : 0);
  return {
    mebibytes: Math.round(process.memoryUsage().rss / 2 ** 20),
    descriptors: count('/proc/self/fd'),
    threads: count('/proc/self/task'),
  };
}

/** How to repeat a model's life. */
export interface CycleOptions extends LoadModelOptions {
  readonly path: string;
  readonly cycles: number;
  /** The number of lives until what is kept for later ones has settled. */
  readonly settling: number;
  readonly onCycle?: (cycle: number, held: Held) => void;
}

/**
 * Loads a model, generates and disposes it, repeatedly. Each time nothing is left of its device and the text is the
 * same. Returns what the process held after settling, and at the end.
 */
export async function modelCycles(options: CycleOptions): Promise<{ settled: Held; end: Held }> {
  const { path, cycles, settling, onCycle, ...load } = options;
  let text: string | undefined;
  let settled: Held | undefined;
  let end: Held = await held();
  for (let cycle = 1; cycle <= cycles; cycle++) {
    const model = await loadModel(path, load);
    const answer = await model.generate([1], { temperature: 0, maxTokens: 2, ignoreEnd: true }).text();
    await model.dispose();
    assert.equal(model.device.liveObjects(), 0, `cycle ${cycle}`);
    assert.equal(answer, (text ??= answer), `cycle ${cycle}`);
    end = await held();
    if (cycle === settling) settled = end;
    onCycle?.(cycle, end);
  }
  return { settled: settled ?? end, end };
}
