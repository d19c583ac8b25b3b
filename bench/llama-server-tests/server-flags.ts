import { STAND_INS, standInOf } from './stand-ins.ts';
import { join } from 'node:path';

/** Flags of llama-server that have a value, and ours; undefined for those that have no counterpart or need none. */
const VALUES: Readonly<Record<string, string | undefined>> = {
  '--host': '--host',
  '--port': '--port',
  '--api-key': '--api-key',
  '--cors-origins': '--cors',
  '--batch-size': '--batch',
  '--temp': '--temperature',
  '--seed': '--seed',
  '--pooling': '--pooling',
  '--slot-save-path': '--slot-save-path',
  '--threads': '--threads',
  '--sleep-idle-seconds': '--sleep-idle-seconds',
  '--chat-template-file': '--chat-template-file',
  '--chat-template': '--chat-template',
  '--models-max': '--max-models',
  '--ubatch-size': undefined,
  '--n-gpu-layers': undefined,
  '--grp-attn-n': undefined,
  '--grp-attn-w': undefined,
  '--spec-type': undefined,
  '--spec-draft-n-min': '--draft-min',
  '--cache-ram': undefined,
  '-fa': undefined,
  '-ctv': undefined,
};

/** Flags without a value that need no counterpart: we do what they ask for anyway. */
const PLAIN = new Set([
  '--offline',
  '--cont-batching',
  '--embedding',
  '--reranking',
  '--swa-full',
  '--jinja',
  '--no-jinja',
  '--no-mmproj',
]);

/** Models that a router loads at the same time, if it is not told. */
const ROUTER_MODELS = 4;

/**
 * The arguments of `rocmforge serve` for those of llama-server. Models are replaced by the stand-ins of a folder. Throws
 * for flags that neither have a counterpart nor can be left out.
 */
export function serveArguments(given: readonly string[], folder: string): string[] {
  const { values, flags } = parsed(given);
  const mapped: string[] = ['serve'];
  for (const [name, texts] of values) {
    const ours = VALUES[name];
    for (const text of texts) if (ours !== undefined) mapped.push(ours, text);
  }
  const last = (name: string) => values.get(name)?.at(-1);
  const predicted = Number(last('--n-predict') ?? -1);
  if (predicted >= 0) mapped.push('--default-max-tokens', `${predicted}`);
  if (flags.has('--context-shift')) mapped.push('--context-shift');
  if (flags.has('--verbose')) mapped.push('--verbose-answers');
  if (flags.has('--no-models-autoload')) mapped.push('--no-autoload');
  // llama-server does so unless it is told otherwise.
  if (!flags.has('--no-prefill-assistant')) mapped.push('--prefill-assistant');
  // llama-server turns reasoning on where the template has a switch.
  mapped.push('--reasoning', last('--reasoning') === 'off' ? 'off' : 'on');
  if (flags.has('--no-slots')) mapped.push('--no-slots');
  if (flags.has('--no-ui')) mapped.push('--no-page');
  if (!flags.has('--metrics')) mapped.push('--no-metrics');
  // llama-server lets pages of all origins in, unless it is told otherwise.
  if (last('--cors-origins') === undefined) mapped.push('--cors', '*');
  mapped.push(...modelArguments(last, folder), ...sizeArguments(last, flags));
  for (const path of values.get('--lora') ?? []) mapped.push('--lora', path);
  const draft = last('--model-draft');
  if (draft !== undefined) mapped.push('--draft', draft);
  const drafted = last('--spec-draft-n-max');
  if (draft !== undefined && drafted !== undefined) mapped.push('--draft-max', drafted);
  return mapped;
}

function parsed(given: readonly string[]): { values: Map<string, string[]>; flags: Set<string> } {
  const values = new Map<string, string[]>();
  const flags = new Set<string>();
  for (let at = 0; at < given.length; at++) {
    const name = given[at] as string;
    const value = given[at + 1];
    if (PLAIN.has(name) || value === undefined || /^--?[a-z]/.test(value)) flags.add(name);
    else {
      values.set(name, [...(values.get(name) ?? []), value]);
      at++;
    }
  }
  return { values, flags };
}

/** What is served: a stand-in under its names, or all of them as models of a router. */
function modelArguments(last: (name: string) => string | undefined, folder: string): string[] {
  const repository = last('--hf-repo');
  if (repository === undefined) {
    const models = Object.entries(STAND_INS).flatMap(([id, file]) => ['-m', `${id}=${join(folder, file)}`]);
    return last('--models-max') === undefined ? [...models, '--max-models', `${ROUTER_MODELS}`] : models;
  }
  const file = standInOf(folder, repository, last('--hf-file'));
  if (file === undefined)
    throw new Error(`there is no stand-in for ${repository} ${last('--hf-file') ?? ''}`);
  const names = ['--alias', '--tags'].flatMap((flag) => {
    const value = last(flag);
    return value === undefined ? [] : [flag, value];
  });
  return ['--any-model', '-m', file, ...names];
}

/** The context is llama-server's share of a slot, unless the slots share one. */
function sizeArguments(last: (name: string) => string | undefined, flags: ReadonlySet<string>): string[] {
  const slots = Number(last('--parallel') ?? 4);
  const context = last('--ctx-size');
  const sizes = ['--parallel', `${slots}`];
  if (context !== undefined && flags.has('--kv-unified')) {
    sizes.push('--context', context, '--cache-positions', context);
  } else if (context !== undefined) sizes.push('--context', `${Math.floor(Number(context) / slots)}`);
  return sizes;
}
