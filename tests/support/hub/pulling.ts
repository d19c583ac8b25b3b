import type { TestContext } from 'node:test';
import type { ByteRange } from '../../../src/node/hub/byte-ranges.ts';
import { ModelHub, type PulledModel, type PullOptions, type HubOptions } from '../../../src/node/hub/pull.ts';
import { seededRandom } from '../random.ts';
import { temporaryFolder } from '../temporary.ts';
import type { HubServer } from './hub-server.ts';

/** Random bytes, the same for the same seed. */
export function randomBytes(length: number, seed = 1): Uint8Array {
  const random = seededRandom(seed);
  return Uint8Array.from({ length }, () => Math.floor(256 * random()));
}

/** No compiler: a process that compiles the CPU's kernels into a cache would outlive the test that removes it. */
export const NO_COMPILER = { CXX: '/nowhere' };

/** An environment in which models are kept in a temporary folder and the hub is `server`. */
export function hubEnvironment(t: TestContext, server: Pick<HubServer, 'url'>): Record<string, string> {
  const [home, cache] = [temporaryFolder(t), temporaryFolder(t)];
  return { HF_ENDPOINT: server.url, HF_HOME: home, XDG_CACHE_HOME: cache, ...NO_COMPILER };
}

/** Patience for servers that fail on purpose. */
export const IMPATIENT = { attempts: 4, firstMs: 1 };

/** Pulls a model with an environment of its own. */
export async function pullWith(
  environment: Record<string, string>,
  name: string,
  options: PullOptions & HubOptions = {},
): Promise<PulledModel> {
  using hub = await ModelHub.open({ environment, patience: IMPATIENT, ...options });
  return await hub.pull(hub.parse(name), options);
}

/** The ranges that the storage was asked for, from the `from`th request on. */
export function rangesAsked({ asked }: Pick<HubServer, 'asked'>, from = 0): ByteRange[] {
  return asked.slice(from).flatMap(({ at, range }): ByteRange[] => {
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
    return at === 'storage' && first !== undefined ? [[Number(first), Number(last) + 1]] : [];
  });
}
