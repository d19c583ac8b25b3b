import { KvBlockAllocator, type KvCacheSize } from './kv-block-allocator.ts';
import type { ModelConfig } from '../model/model-config.ts';
import { RecurrentState } from './recurrent-state.ts';
import type { SequenceState } from './sequence-state.ts';

/** What sequences leave behind in a model of this kind. */
export function stateOf({ memory }: ModelConfig, size: KvCacheSize): SequenceState {
  return memory === 'recurrent' ? new RecurrentState(size) : new KvBlockAllocator(size);
}
