import { fail } from '../../base/errors.ts';
import type { GgufFile } from '../../gguf/index.ts';
import { DRAFTER_PREFIX } from '../drafter.ts';
import { EMBEDDING_TABLE, PER_LAYER_TABLE } from '../embedding-place.ts';
import type { ConfigReader } from '../config-reader.ts';
import type { ModelConfig } from '../model-config.ts';
import { type ModelGraphs, predictorParts } from '../model-graphs.ts';
import { type Unread, unreadText } from './unread.ts';
import { unreadKeys } from './unread-keys.ts';
import { unreadTensors } from './unread-tensors.ts';

/** A file, what was read of it, and its configuration. */
interface ReadFile {
  readonly gguf: GgufFile;
  readonly read: ConfigReader;
  readonly config: ModelConfig;
}

/** A model's file, and what may stay unread. */
export interface UnreadSource extends ReadFile {
  /** A drafter's file, the names of whose tensors begin with `DRAFTER_PREFIX` in the graphs. */
  readonly drafter?: ReadFile | undefined;
  /** Load the file anyway: errors become warnings. */
  readonly allowed: boolean;
}

/** Maximum names in an error message. */
const MAX_NAMES = 8;

/**
 * Checks that a model uses all of its file: reports tensors that no graph has as a weight, and keys of the architecture
 * that were not requested. A file with more than its architecture uses would give results other than intended.
 */
export class UnreadCheck {
  readonly #source: UnreadSource;
  #found: readonly Unread[] | undefined;

  constructor(source: UnreadSource) {
    this.#source = source;
  }

  /** The findings; empty before `check`. */
  get found(): readonly Unread[] {
    return this.#found ?? [];
  }

  /** Compares the file with the recorded graphs, on the first call. Throws `MODEL_UNREAD`. */
  check(graphs: ModelGraphs): void {
    if (this.#found) return;
    const { config, drafter, allowed } = this.#source;
    const names = weightNames(graphs, config);
    const found = [
      ...unreadOf(this.#source, names),
      ...(drafter ? unreadOf(drafter, drafterNames(names)) : []),
    ];
    this.#found = allowed ? found.map((unread) => ({ ...unread, level: 'warning' as const })) : found;
    const errors = this.#found.filter(({ level }) => level === 'error');
    if (errors.length === 0) return;
    const shown = errors.slice(0, MAX_NAMES).map(unreadText);
    if (errors.length > shown.length) shown.push(`${errors.length - shown.length} more`);
    fail('MODEL_UNREAD', { architecture: config.architecture, names: shown.join('; ') });
  }
}

function unreadOf({ gguf, read, config }: ReadFile, names: ReadonlySet<string>): Unread[] {
  return [...unreadKeys(read, config), ...unreadTensors(gguf, config, names)];
}

/** The names of a drafter's tensors in its own file. */
function drafterNames(names: ReadonlySet<string>): Set<string> {
  const drafted = [...names].filter((name) => name.startsWith(DRAFTER_PREFIX));
  return new Set(drafted.map((name) => name.slice(DRAFTER_PREFIX.length)));
}

/** The file's tensors that are used. Embeddings count even if the host looks them up. */
function weightNames(
  { embedding, layers, head, sampling, predictor }: ModelGraphs,
  config: ModelConfig,
): Set<string> {
  const parts = [embedding, ...layers, head, sampling, ...predictorParts(predictor)];
  const names = parts.flatMap(({ graph, prefix }) => graph.weights.map(({ name }) => prefix + name));
  return new Set([EMBEDDING_TABLE, ...(config.embedding.perLayer ? [PER_LAYER_TABLE] : []), ...names]);
}
