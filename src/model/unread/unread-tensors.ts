import type { GgufFile } from '../../gguf/index.ts';
import type { ModelConfig } from '../model-config.ts';
import type { Unread } from './unread.ts';

/** Why tensors with certain names may stay unread. */
interface TensorRule {
  readonly name: RegExp;
  /** False if it need not be reported. */
  readonly warns: boolean;
  readonly reason: string;
  /** Applies only if another tensor is read: the one named by replacing `end` with `by`. */
  readonly beside?: readonly [end: RegExp, by: string];
  /** Applies only to models that embed or rank. */
  readonly embeds?: true;
  /** The architectures it applies to; undefined for all ... */
  readonly architectures?: readonly string[];
  /** ... except these. */
  readonly except?: readonly string[];
}

/** The first rule that matches a name applies. Tensors that match none are an error. */
const RULES: readonly TensorRule[] = [
  {
    // Having only those for long contexts is not a mistake: shorter contexts are rotated without any, as in llama.cpp.
    name: /^rope_factors_(long|short)\.weight$/,
    warns: false,
    reason: 'for contexts of another length',
    except: [
      ...['gpt2', 'starcoder', 'bert', 'nomic-bert', 'nomic-bert-moe', 'jina-bert-v2', 'jina-bert-v3'],
      ...['rwkv7', 'arwkv7'],
    ],
  },
  {
    name: /^output\.(weight|bias|scale)$/,
    warns: false,
    reason: 'of logits, which a model that embeds or ranks does not compute',
    embeds: true,
  },
  {
    name: /^blk\.0\.time_mix_v[012]\.weight$/,
    warns: false,
    reason: 'the first layer has no value before it to draw from',
    architectures: ['rwkv7', 'arwkv7'],
  },
  {
    name: /^blk\.\d+\.attn_(k|v|k_norm)\.weight$/,
    warns: false,
    reason: 'of keys and values that an earlier layer has',
    architectures: ['gemma3n', 'gemma4'],
  },
  {
    name: /^blk\.\d+\.indexer\./,
    warns: false,
    reason: 'of layers that attend to all positions, or to those that an earlier layer has chosen',
    architectures: ['deepseek32', 'glm-dsa'],
  },
  {
    name: /^blk\.0\.attn_res_score\.weight$/,
    warns: false,
    reason: 'the first layer has no residual stream of an earlier one to read',
    architectures: ['kimi-k3'],
  },
  {
    name: /^blk\.\d+\.exp_probs_b_vl\.bias$/,
    warns: true,
    reason: 'of images: only texts are read',
    architectures: ['deepseek4'],
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
    name: /^blk\.\d+\.(ffn_(gate|up|down)(_exps|_shexp)?|attn_(q|k|v|qkv|gate|output)|ssm_(beta|out))\.scale$/,
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
    name: /^d2t$/,
    warns: false,
    reason: 'read when the file is opened',
    architectures: ['eagle3', 'dflash'],
  },
  {
    name: /^masked_embd_(centroids\.weight|ordering)$/,
    warns: false,
    reason: 'of a shorter way to the likeliest drafts: all are computed',
    architectures: ['gemma4-assistant'],
  },
  {
    name: /^(cls|classifier|pooler)[._]/,
    warns: true,
    reason: 'of a classifier, which is not run',
  },
];

/** The tensors of a file that are not weights in `read`, with those of several layers combined. */
export function unreadTensors(gguf: GgufFile, config: ModelConfig, read: ReadonlySet<string>): Unread[] {
  const blocks = gguf.metadata.number(`${config.architecture}.block_count`) ?? 0;
  const found = new Map<string, Unread>();
  const predicts = (layer: number) => gguf.tensors.some(({ name }) => name.startsWith(`blk.${layer}.nextn.`));
  for (const { name } of gguf.tensors) {
    const judged = read.has(name) ? undefined : judge(name, { config, read, blocks, predicts });
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
  {
    config,
    read,
    blocks,
    predicts,
  }: {
    config: ModelConfig;
    read: ReadonlySet<string>;
    blocks: number;
    predicts: (layer: number) => boolean;
  },
): Pick<Unread, 'level' | 'reason'> | undefined {
  const { architecture } = config;
  const layer = Number(/^blk\.(\d+)\./.exec(name)?.[1] ?? -1);
  // Layers that `configure` has removed.
  if (layer >= config.layers.length && layer < blocks) {
    if (predicts(layer)) return { level: 'warning', reason: reasonOfPredictor(config, layer) };
    return {
      level: 'error',
      reason: 'of a layer that nextn_predict_layers counts, but that predicts nothing',
    };
  }
  const rule = RULES.find((of) => {
    const [end, by] = of.beside ?? [];
    const holds = of.architectures?.includes(architecture) ?? !of.except?.includes(architecture);
    if (of.embeds && config.pooling === undefined) return false;
    return holds && of.name.test(name) && (!end || read.has(name.replace(end, by ?? '')));
  });
  if (!rule) return { level: 'error', reason: `${architecture} is computed without it` };
  return rule.warns ? { level: 'warning', reason: rule.reason } : undefined;
}

/** Why a layer that predicts further tokens is unread. */
function reasonOfPredictor({ architecture, predictor }: ModelConfig, layer: number): string {
  const block = predictor?.kind === 'block' ? predictor : undefined;
  if (block?.index === layer) {
    return 'of a layer that predicts further tokens, which runs if it is asked for (--draft mtp)';
  }
  const which = block
    ? `only layer ${block.index} does`
    : `${architecture} is computed without drafts of its own`;
  return `of a layer that predicts further tokens, which never runs: ${which}`;
}
