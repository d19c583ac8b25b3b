import { Argument } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import { fail } from '../../base/errors.ts';
import {
  type CachedModel,
  cachedModels,
  ModelHub,
  type ModelName,
  modelNameText,
  modelsNamed,
  type RemoteModel,
} from '../../node/hub/index.ts';
import type { CliCommand, CommandContext } from '../command.ts';
import { hubOptions, hubOptionsOf } from '../hub-options.ts';
import { contextOption, deviceOptions, type JsonFlags, jsonOption } from '../options.ts';
import { judge, type Judgement, type PullFlags } from '../pull-model.ts';
import { tableText } from '../table.ts';

interface ShowFlags extends PullFlags, JsonFlags {}

/** `rocmforge show`: a model's quantizations, what they need on this machine, and which of them are here. */
export const showCommand: CliCommand<ShowFlags> = {
  arguments: [new Argument('<model>', 'hf:user/repo, ollama:name[:tag], or another name of a model')],
  options: [...hubOptions(), contextOption(), ...deviceOptions(), jsonOption()],
  examples: [
    ['show hf:unsloth/Qwen3-0.6B-GGUF', 'its quantizations, and which fit this machine'],
    ['show unsloth/Qwen3-0.6B-GGUF -c 32768 -d cuda', 'with a long context, on a GPU'],
    ['show unsloth/Qwen3-0.6B-GGUF --offline', 'what of it is here'],
  ],
  async run({ args, flags }, context) {
    const [text] = args as [string];
    using hub = await ModelHub.open(hubOptionsOf(flags, context));
    const name = hub.parse(text);
    const here = modelsNamed(await cachedModels(hub.settings), repositoryOf(name));
    if (hub.settings.offline || name.kind === 'url') await showHere(name, here, { flags, context });
    else {
      const remote = await hub.look(name);
      await showRemote(
        remote,
        { here, judgement: await judge(hub, remote, flags, context) },
        { flags, context },
      );
    }
    return undefined;
  },
};

interface Shown {
  readonly flags: ShowFlags;
  readonly context: CommandContext;
}

async function showHere(
  name: ModelName,
  here: readonly CachedModel[],
  { flags, context: { output } }: Shown,
): Promise<void> {
  if (here.length === 0) fail('HUB_OFFLINE', { model: modelNameText(name) });
  const models = here.map((model) => ({ ...model, name: modelNameText(model.name) }));
  if (flags.json) return output.json({ models });
  const lines = models.flatMap(({ name: own, bytes, files }) => [
    `${own}  ${formatBytes(bytes)}`,
    ...files.map((path) => `  ${path}`),
  ]);
  await output.line(lines.join('\n'));
}

async function showRemote(
  remote: RemoteModel,
  { here, judgement }: { readonly here: readonly CachedModel[]; readonly judgement: Judgement },
  { flags, context: { output } }: Shown,
): Promise<void> {
  const { recommended, device, free, unknown } = judgement;
  const isHere = (quantization: string, bytes: number) =>
    here.some(
      ({ name, bytes: own }) => bytes === own && name.kind === 'hub' && name.quantization === quantization,
    );
  const models = judgement.models.map(({ variant, memory, fits }) => ({
    quantization: variant.quantization,
    files: variant.files.map(({ path }) => path),
    bytes: variant.bytes,
    memory,
    fits,
    here: isHere(variant.quantization, variant.bytes),
    recommended: variant === recommended,
  }));
  const projectors = remote.projectors.map(({ path }) => path);
  if (flags.json) {
    const { commit } = remote;
    return output.json({
      model: modelNameText(remote.name),
      commit,
      device,
      free,
      unknown,
      models,
      projectors,
    });
  }
  const rows = models.map((model) => [
    model.quantization,
    formatBytes(model.bytes),
    model.memory === undefined ? '?' : formatBytes(model.memory),
    model.fits === undefined ? '?' : model.fits ? 'yes' : 'streams layers',
    [model.recommended ? 'recommended' : '', model.here ? 'here' : ''].filter(Boolean).join(', '),
  ]);
  const columns = [
    ['quantization', 'left'],
    ['file', 'right'],
    ['memory', 'right'],
    ['fits', 'left'],
    ['', 'left'],
  ] as const;
  const below = [
    unknown === undefined
      ? `${device} has ${formatBytes(free ?? 0)} free; the memory of ${recommended.quantization} is planned from its header, that of the others from their sizes`
      : `the memory is not known: ${unknown}`,
    ...projectors.map((path) => `${path} is not used: only text is supported`),
  ];
  await output.write(`${tableText(columns, rows)}${below.join('\n')}\n`);
}

/** All quantizations of a repository. */
function repositoryOf(name: ModelName): ModelName {
  return name.kind === 'hub' ? { kind: 'hub', repo: name.repo, revision: name.revision } : name;
}
