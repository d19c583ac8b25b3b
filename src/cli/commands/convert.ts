import { basename } from 'node:path';
import { Argument, Option } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import { readTensors } from '../../convert/checkpoint.ts';
import { type ConvertPlan, OUTPUT_TYPES, type OutputType, planConvert } from '../../convert/convert-plan.ts';
import type { ByteSource } from '../../io/index.ts';
import { checkpointFolder, writeConverted } from '../../node/convert-model.ts';
import { byteProgress } from '../byte-progress.ts';
import type { CliCommand, CommandContext } from '../command.ts';
import { type JsonFlags, jsonOption } from '../options.ts';

interface ConvertFlags extends JsonFlags {
  readonly output?: string;
  readonly outtype: OutputType;
  readonly modelName?: string;
  readonly pre?: string;
  readonly dryRun?: boolean;
}

/** `rocmforge convert`: a GGUF file of a model in safetensors. */
export const convertCommand: CliCommand<ConvertFlags> = {
  arguments: [new Argument('<folder>', 'a model of Hugging Face: config.json, the tokenizer, safetensors')],
  options: [
    new Option('-o, --output <file>', 'file to write (default: <folder>-<type>.gguf)'),
    new Option('--outtype <type>', 'format of the matrices; auto is that of the checkpoint')
      .choices(['auto', ...Object.keys(OUTPUT_TYPES)])
      .default('auto'),
    new Option('--model-name <name>', 'name of the model in the file (default: the folder’s)'),
    new Option('--pre <name>', 'pre-tokenizer by llama.cpp’s name, if its patterns are not known'),
    new Option('--dry-run', 'only show what would be written'),
    jsonOption(),
  ],
  examples: [
    ['convert Qwen3-0.6B', 'writes Qwen3-0.6B-BF16.gguf'],
    ['convert Qwen3-0.6B --outtype q8_0 -o qwen.gguf', 'half the size'],
    ['convert Qwen3-0.6B --dry-run', 'what is not understood, if anything'],
  ],
  async run({ args: [folder], flags }, context) {
    const files = checkpointFolder(String(folder));
    const opened: ByteSource[] = [];
    try {
      const stored = await readTensors(files, opened);
      const plan = await planConvert(files, stored, {
        type: flags.outtype,
        name: flags.modelName,
        pre: flags.pre,
      });
      const path = flags.output ?? `${files.name}-${plan.format.name}.gguf`;
      for (const name of plan.unread.settings) context.output.warn(`${name} is not used`);
      const begin = performance.now();
      const byteLength = flags.dryRun ? undefined : await write(plan, path, context);
      const seconds = (performance.now() - begin) / 1000;
      await report({ plan, path, byteLength, seconds }, flags, context);
    } finally {
      await Promise.all(opened.map((source) => source.dispose()));
    }
    return undefined;
  },
};

async function write(plan: ConvertPlan, path: string, { output, signal }: CommandContext): Promise<number> {
  const labels = { doing: 'converting', done: 'converted', name: basename(path) };
  const display = await byteProgress(output, labels);
  try {
    return await writeConverted(plan, { path, signal, onProgress: display.show });
  } finally {
    display.clear();
  }
}

interface Report {
  readonly plan: ConvertPlan;
  readonly path: string;
  /** Absent if nothing was written. */
  readonly byteLength: number | undefined;
  readonly seconds: number;
}

async function report(
  { plan, path, byteLength, seconds }: Report,
  { json }: ConvertFlags,
  { output }: CommandContext,
): Promise<void> {
  const { architecture, unread } = plan;
  const tensors = plan.tensors.map(({ name, shape, format }) => ({ name, shape, format: format.name }));
  if (json) return output.json({ path, byteLength, seconds, architecture, unread, tensors });
  const size =
    byteLength === undefined ? 'not written' : `${formatBytes(byteLength)} in ${seconds.toFixed(1)} s`;
  await output.line(`${path}: ${architecture}, ${tensors.length} tensors, ${size}`);
  if (unread.tensors.length > 0)
    await output.line(`left out: ${unread.tensors.length} tensors of other parts`);
}
