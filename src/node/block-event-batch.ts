import { type Packable, packed } from '../base/msgpack.ts';
import { KV_BLOCK_SIZE } from '../model/state-groups.ts';
import type { BlockEvent } from '../state/held-blocks.ts';

/** vLLM's name for the memory in which models compute; blocks are nowhere else. */
const MEDIUM = 'GPU';
/** The only engine of the server has the first rank. */
const RANK = 0;

/**
 * Events in the form of vLLM's `KVEventBatch`: MessagePack of `[seconds, events, rank]`, each event a list that begins with its name, as
 * vLLM wrote them until its maps of 2026, and as its consumers read them.
 */
export function blockEventBatch(events: readonly BlockEvent[], milliseconds: number): Uint8Array {
  return packed([milliseconds / 1000, events.map(packableOf), RANK]);
}

function packableOf(event: BlockEvent): Packable {
  if (event.kind === 'cleared') return ['AllBlocksCleared'];
  if (event.kind === 'removed') return ['BlockRemoved', event.hashes, MEDIUM];
  const { hashes, parent, ids, lineage } = event;
  const stored = ['BlockStored', hashes, parent ?? null, ids, KV_BLOCK_SIZE, null, MEDIUM];
  if (lineage === undefined) return [...stored, null];
  const [adapters, salt] = JSON.parse(lineage) as [adapters: [string, number][], salt: string | null];
  const lora = adapters.map(([name, scale]) => (scale === 1 ? name : `${name}*${scale}`)).join('+');
  const extra = hashes.map((_, index) => {
    const keys = [
      ...(lora ? [lora] : []),
      ...(salt !== null && parent === undefined && index === 0 ? [salt] : []),
    ];
    return keys.length > 0 ? keys : null;
  });
  return [...stored, lora || null, extra];
}
