import { Argument, Option } from 'commander';
import { formatBytes } from '../../base/bytes.ts';
import { fail } from '../../base/errors.ts';
import type { GgufFile, GgufPlan } from '../../gguf/index.ts';
import { copyModel } from '../../node/copy-model.ts';
import { byteProgress } from '../byte-progress.ts';
import type { CliCommand } from '../command.ts';
import { type JsonFlags, jsonOption } from '../options.ts';
import { openNamed } from '../pull-model.ts';
import { metadataOf, modelName } from './split.ts';

interface JoinFlags extends JsonFlags {
  readonly output?: string;
}

const SPLIT_COUNT = 'split.count';

/** `rocmforge join`: one file of a model in several. */
export const joinCommand: CliCommand<JoinFlags> = {
  arguments: [new Argument('<part>', 'any part of the model: a file, http(s) address or name')],
  options: [
    new Option('-o, --output <file>', 'file to write (default: the parts’ name without their numbers)'),
    jsonOption(),
  ],
  examples: [
    ['join model-00001-of-00003.gguf', 'writes model.gguf'],
    ['join parts/model-00001-of-00003.gguf -o model.gguf', 'to another folder'],
  ],
  async run({ args: [location], flags }, context) {
    const { output, signal } = context;
    await using gguf = await openNamed(String(location), {}, context);
    if (gguf.parts.length === 1) {
      fail('INVALID_ARGUMENT', {
        name: 'part',
        found: `${gguf.name}, a whole model`,
        expected: 'a part of one',
      });
    }
    const path = flags.output ?? `${modelName(gguf)}.gguf`;
    const display = await byteProgress(output, { doing: 'joining', done: 'joined', name: modelName(gguf) });
    try {
      await copyModel(gguf, [{ path, plan: joinedPlan(gguf) }], { signal, onProgress: display.show });
    } finally {
      display.clear();
    }
    const byteLength = gguf.tensors.reduce((sum, tensor) => sum + tensor.byteLength, 0);
    const parts = gguf.parts.length;
    if (flags.json) await output.json({ path, parts, tensors: gguf.tensors.length, byteLength });
    else
      await output.line(
        `${path}: ${gguf.tensors.length} tensors of ${parts} files, ${formatBytes(byteLength)}`,
      );
    return undefined;
  },
};

/** The first part's metadata with a count of no parts, which is how llama.cpp marks a model that was joined. */
function joinedPlan(gguf: GgufFile): GgufPlan {
  const own = metadataOf(gguf).filter(([key]) => key !== SPLIT_COUNT);
  return { metadata: [...own, [SPLIT_COUNT, { type: 'u16', value: 0 }]], tensors: gguf.tensors };
}
