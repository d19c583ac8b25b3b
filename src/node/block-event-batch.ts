import { type Packable, type PackableMap, packed } from '../base/msgpack.ts';
import { KV_BLOCK_SIZE } from '../model/state-groups.ts';
import type { BlockEvent } from '../state/held-blocks.ts';

/** vLLM's name for the memory in which models compute; blocks are nowhere else. */
const MEDIUM = 'GPU';
/** The only engine of the server has the first rank. */
const RANK = 0;

/**
 * How batches are written: vLLM's events were lists that begin with their name until June 2026, and are maps of their fields since;
 * some readers take both.
 */
export type KvEventEncoding = 'array' | 'map';

/** Fields in vLLM's order, behind the name of the event; those from `required` on are left out of maps where they are null. */
interface EventFields {
  readonly name: string;
  readonly required: number;
  readonly fields: Readonly<Record<string, Packable>>;
}

/**
 * Events in the form of vLLM's `KVEventBatch`: MessagePack of its time in seconds, its events and the rank; as lists `[seconds, events,
 * rank]` and `[name, ...fields]`, or as maps with `ts`, `events` and `data_parallel_rank`, and with `type` and the fields by name.
 */
export function blockEventBatch(
  events: readonly BlockEvent[],
  milliseconds: number,
  encoding: KvEventEncoding = 'array',
): Uint8Array {
  const seconds = milliseconds / 1000;
  const described = events.map(fieldsOf);
  if (encoding === 'map')
    return packed({ ts: seconds, events: described.map(mapOf), data_parallel_rank: RANK });
  return packed([seconds, described.map(({ name, fields }) => [name, ...Object.values(fields)]), RANK]);
}

function mapOf({ name, required, fields }: EventFields): PackableMap {
  const written = Object.entries(fields).filter(([, value], at) => at < required || value !== null);
  return { type: name, ...Object.fromEntries(written) };
}

function fieldsOf(event: BlockEvent): EventFields {
  if (event.kind === 'cleared') return { name: 'AllBlocksCleared', required: 0, fields: {} };
  if (event.kind === 'removed') {
    return { name: 'BlockRemoved', required: 2, fields: { block_hashes: event.hashes, medium: MEDIUM } };
  }
  const { hashes, parent, ids, lineage } = event;
  const fields = {
    block_hashes: hashes,
    parent_block_hash: parent ?? null,
    token_ids: ids,
    block_size: KV_BLOCK_SIZE,
    lora_id: null,
    medium: MEDIUM,
    ...(lineage === undefined ? { lora_name: null } : lineageOf(event, lineage)),
  };
  return { name: 'BlockStored', required: 6, fields };
}

/** The adapters of a sequence by name, and for each block what its hash depends on besides the ids. */
function lineageOf(
  { hashes, parent }: Extract<BlockEvent, { readonly kind: 'stored' }>,
  lineage: string,
): Record<'lora_name' | 'extra_keys', Packable> {
  const [adapters, salt] = JSON.parse(lineage) as [adapters: [string, number][], salt: string | null];
  const lora = adapters.map(([name, scale]) => (scale === 1 ? name : `${name}*${scale}`)).join('+');
  const extra = hashes.map((_, index) => {
    const keys = [
      ...(lora ? [lora] : []),
      ...(salt !== null && parent === undefined && index === 0 ? [salt] : []),
    ];
    return keys.length > 0 ? keys : null;
  });
  return { lora_name: lora || null, extra_keys: extra };
}
