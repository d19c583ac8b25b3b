import type { GgufFile } from '../../gguf/index.ts';
import type { ModelConfig } from '../model-config.ts';
import type { Unread } from './unread.ts';

/** Why tensors of some names may stay unread. */
interface TensorRule {
  readonly name: RegExp;
  /** False where nobody needs to be told. */
  readonly warns: boolean;
  readonly reason: string;
  /** A tensor beside which it holds: the name's end, and what stands there then. It must be read. */
  readonly beside?: readonly [end: RegExp, by: string];
  /** Architectures that it holds for; undefined for all ... */
  readonly architectures?: readonly string[];
  /** ... but these. */
  readonly except?: readonly string[];
}

/** The first that a name matches counts. What matches none is an error. */
const RULES: readonly TensorRule[] = [
  {
    // Those for long contexts alone are no mistake: shorter ones are turned without any, as in llama.cpp.
    name: /^rope_factors_(long|short)\.weight$/,
    warns: false,
    reason: 'for contexts of another length',
    except: ['gpt2', 'starcoder', 'bert', 'nomic-bert', 'nomic-bert-moe', 'jina-bert-v3', 'rwkv7', 'arwkv7'],
  },
  {
    name: /^blk\.0\.time_mix_v[012]\.weight$/,
    warns: false,
    reason: 'the first layer has no value before it to draw from',
    architectures: ['rwkv7', 'arwkv7'],
  },
  {
    name: /^blk\.\d+\.(attn_rot_embd|rope_freqs)(\.weight)?$/,
    warns: true,
    reason: 'frequencies are computed from the metadata',
  },
  {
    name: /\.input_scale$/,
    warns: true,
    reason: 'activations are not stored in four bits, which it is for',
    beside: [/input_scale$/, 'weight'],
  },
  {
    name: /^blk\.\d+\.ffn_(gate|up|down)(_exps|_shexp)?\.scale$/,
    warns: true,
    reason: 'not multiplied by, as in llama.cpp for this architecture',
    beside: [/scale$/, 'weight'],
  },
  {
    name: /^(v|a|mm|vision|audio|resampler|model\.(vision|audio))\./,
    warns: true,
    reason: 'of images or sound: only texts are read',
  },
  {
    name: /^(cls|classifier|pooler)[._]/,
    warns: true,
    reason: 'of a classifier, which is not run',
  },
];

/** The tensors of a file without a weight in `read`, those of several layers together. */
export function unreadTensors(gguf: GgufFile, config: ModelConfig, read: ReadonlySet<string>): Unread[] {
  const blocks = gguf.metadata.number(`${config.architecture}.block_count`) ?? 0;
  const found = new Map<string, Unread>();
  for (const { name } of gguf.tensors) {
    const judged = read.has(name) ? undefined : judge(name, { config, read, blocks });
    if (!judged) continue;
    const common = name.replace(/^blk\.\d+\./, 'blk.*.');
    const key = `${common} ${judged.reason}`;
    const known = found.get(key);
    found.set(
      key,
      known
        ? { ...known, name: common, count: known.count + 1 }
        : { kind: 'tensor', name, count: 1, ...judged },
    );
  }
  return [...found.values()];
}

function judge(
  name: string,
  { config, read, blocks }: { config: ModelConfig; read: ReadonlySet<string>; blocks: number },
): Pick<Unread, 'level' | 'reason'> | undefined {
  const { architecture } = config;
  const layer = Number(/^blk\.(\d+)\./.exec(name)?.[1] ?? -1);
  // Those that `configure` has taken off.
  if (layer >= config.layers.length && layer < blocks) {
    return { level: 'warning', reason: 'of a layer that predicts further tokens, which is not run' };
  }
  const rule = RULES.find((of) => {
    const [end, by] = of.beside ?? [];
    const holds = of.architectures?.includes(architecture) ?? !of.except?.includes(architecture);
    return holds && of.name.test(name) && (!end || read.has(name.replace(end, by ?? '')));
  });
  if (!rule) return { level: 'error', reason: `${architecture} is computed without it` };
  return rule.warns ? { level: 'warning', reason: rule.reason } : undefined;
}
