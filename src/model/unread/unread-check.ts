import { fail } from '../../base/errors.ts';
import type { GgufFile } from '../../gguf/index.ts';
import { EMBEDDING_TABLE } from '../embedding-place.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { ModelConfig } from '../model-config.ts';
import type { ModelGraphs } from '../model-graphs.ts';
import { type Unread, unreadText } from './unread.ts';
import { unreadKeys } from './unread-keys.ts';
import { unreadTensors } from './unread-tensors.ts';

/** A file, what its architecture makes of its metadata, and what may be left unread. */
export interface UnreadSource {
  readonly gguf: GgufFile;
  readonly read: ConfigReader;
  readonly config: ModelConfig;
  /** Load the file all the same: what would be an error is a warning. */
  readonly allowed: boolean;
}

/** Most names in an error's message. */
const MAX_NAMES = 8;

/**
 * Holds a model to reading its file: what no graph has a weight for, and which of the architecture's keys nobody asked for. A
 * file that holds more than its architecture computes with gives other results than it was made to give.
 */
export class UnreadCheck {
  readonly #source: UnreadSource;
  #found: readonly Unread[] | undefined;

  constructor(source: UnreadSource) {
    this.#source = source;
  }

  /** What was found; nothing before `check`. */
  get found(): readonly Unread[] {
    return this.#found ?? [];
  }

  /** Compares the file with what was recorded of it, at the first call. Throws `MODEL_UNREAD`. */
  check(graphs: ModelGraphs): void {
    if (this.#found) return;
    const { gguf, read, config, allowed } = this.#source;
    const tensors = unreadTensors(gguf, config, weightNames(graphs));
    const found = [...unreadKeys(read, config), ...tensors];
    this.#found = allowed ? found.map((unread) => ({ ...unread, level: 'warning' as const })) : found;
    const errors = this.#found.filter(({ level }) => level === 'error');
    if (errors.length === 0) return;
    const shown = errors.slice(0, MAX_NAMES).map(unreadText);
    if (errors.length > shown.length) shown.push(`${errors.length - shown.length} more`);
    fail('MODEL_UNREAD', { architecture: config.architecture, names: shown.join('; ') });
  }
}

/** The file's tensors that are computed with. The embedding is, even where the host looks it up. */
function weightNames({ embedding, layers, head, sampling }: ModelGraphs): Set<string> {
  const parts = [embedding, ...layers, head, sampling];
  const names = parts.flatMap(({ graph, prefix }) => graph.weights.map(({ name }) => prefix + name));
  return new Set([EMBEDDING_TABLE, ...names]);
}
