import { basename } from 'node:path';
import { Argument, Option } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import { type GgufFile, type GgufValue, planSplits, type SplitPlan } from '../../gguf/index.ts';
import { copyModel } from '../../node/copy-model.ts';
import { byteProgress } from '../byte-progress.ts';
import type { CliCommand, CommandContext } from '../command.ts';
import { byteSize, type JsonFlags, jsonOption, wholeNumber } from '../options.ts';
import { openNamed } from '../pull-model.ts';

interface SplitFlags extends JsonFlags {
  readonly output?: string;
  readonly maxTensors?: number;
  readonly maxSize?: number;
  readonly metadataFirst?: boolean;
  readonly dryRun?: boolean;
}

/** Tensors of a file if no limit is given: llama.cpp's number. */
const DEFAULT_TENSORS = 128;

/** `rocmforge split`: a model in several files, as llama.cpp names and ties them. */
export const splitCommand: CliCommand<SplitFlags> = {
  arguments: [new Argument('<model>', 'GGUF file, http(s) address or name')],
  options: [
    new Option('-o, --output <prefix>', 'what comes before -00001-of-00003.gguf (default: the file’s name)'),
    new Option('--max-tensors <count>', `tensors of a file (default: ${DEFAULT_TENSORS})`)
      .argParser(wholeNumber(1))
      .conflicts('maxSize'),
    new Option('--max-size <size>', 'size of the tensors of a file, such as 4GB').argParser(byteSize),
    new Option('--metadata-first', 'no tensors in the first file: it is small, and can be read alone'),
    new Option('--dry-run', 'only show what would be written'),
    jsonOption(),
  ],
  examples: [
    ['split model-Q8_0.gguf --max-size 4GB', 'files that a file system or a hub takes'],
    ['split model.gguf --max-tensors 100 -o parts/model', 'parts/model-00001-of-00003.gguf and so on'],
    ['split model.gguf --max-size 4GB --dry-run', 'what the files would hold'],
  ],
  async run({ args: [location], flags }, context) {
    await using gguf = await openNamed(String(location), {}, context);
    const { maxSize: maxBytes, metadataFirst } = flags;
    const maxTensors = flags.maxTensors ?? (maxBytes === undefined ? DEFAULT_TENSORS : undefined);
    const plan = { metadata: metadataOf(gguf), tensors: gguf.tensors };
    const parts = planSplits(plan, flags.output ?? modelName(gguf), { maxTensors, maxBytes, metadataFirst });
    if (!flags.dryRun) await write(gguf, parts, context);
    await report(gguf, parts, flags, context);
    return undefined;
  },
};

/** All metadata of a file, as they are encoded there. */
export function metadataOf({ metadata }: GgufFile): [string, GgufValue][] {
  return [...metadata.keys()].flatMap((key): [string, GgufValue][] => {
    const value = metadata.encoded(key);
    return value ? [[key, value]] : [];
  });
}

/** `dir/model-00001-of-00003.gguf` is `model`. */
export function modelName(gguf: GgufFile): string {
  return basename(gguf.name.replace(/[?#].*$/, '')).replace(/(-\d{5}-of-\d{5})?\.gguf$/i, '');
}

async function write(gguf: GgufFile, parts: readonly SplitPlan[], { output, signal }: CommandContext) {
  const labels = { doing: 'splitting', done: 'split', name: basename(gguf.name) };
  const display = await byteProgress(output, labels);
  try {
    const files = parts.map(({ name, plan }) => ({ path: name, plan }));
    await copyModel(gguf, files, { signal, onProgress: display.show });
  } finally {
    display.clear();
  }
}

async function report(
  gguf: GgufFile,
  parts: readonly SplitPlan[],
  flags: SplitFlags,
  { output }: CommandContext,
): Promise<void> {
  const files = parts.map(({ name, plan: { tensors } }) => ({
    path: name,
    tensors: tensors.length,
    byteLength: tensors.reduce((sum, tensor) => sum + gguf.requireTensor(tensor.name).byteLength, 0),
  }));
  if (flags.json) return output.json({ written: !flags.dryRun, files });
  for (const { path, tensors, byteLength } of files) {
    await output.line(`${path}: ${tensors} tensors, ${formatBytes(byteLength)}`);
  }
}
