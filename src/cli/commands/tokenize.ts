import { Argument, Option } from 'commander';
import { fail } from '../../base/errors.ts';
import { createTokenizer, type Tokenizer } from '../../text/index.ts';
import type { CliCommand } from '../command.ts';
import { type HubFlags, hubOptions } from '../hub-options.ts';
import { bundledModel } from '../../node/bundled-model.ts';
import { type JsonFlags, jsonOption, type ModelFlags, modelOption } from '../options.ts';
import { openNamed } from '../pull-model.ts';
import { requireStandardInput } from '../standard-input.ts';
import { printable } from '../table.ts';

interface TokenizeFlags extends Pick<ModelFlags, 'model'>, HubFlags, JsonFlags {
  readonly decode?: string | true;
  readonly pieces?: boolean;
  readonly special?: boolean;
  readonly bos: boolean;
}

/** `rocmforge tokenize`: text to token ids and back. */
export const tokenizeCommand: CliCommand<TokenizeFlags> = {
  arguments: [new Argument('[text]', 'the text, used verbatim (default: standard input)')],
  options: [
    modelOption(),
    ...hubOptions(),
    new Option(
      '--decode [ids]',
      'convert ids, separated by commas or spaces, to text (default: standard input)',
    ),
    new Option('--pieces', 'print one token per line: its id and its text'),
    new Option('--special', 'read or print control tokens by name'),
    new Option('--no-bos', 'do not add the tokens that the model expects around a text'),
    jsonOption(),
  ],
  examples: [
    ['tokenize "Hello world"', 'the ids on one line'],
    ['tokenize --pieces --special "<|im_start|>user"', 'the text of each token'],
    ['tokenize --decode 1,85,736', 'the text of ids'],
    ['tokenize -m model.gguf --json < text.txt', 'the tokens of a file as JSON'],
  ],
  async run({ args, flags }, context) {
    const { output, signal } = context;
    const [text] = args as [string?];
    await using gguf = await openNamed(flags.model ?? bundledModel(), flags, context);
    const tokenizer = createTokenizer(gguf.metadata);
    const special = flags.special === true;
    if (flags.decode !== undefined) {
      if (flags.decode !== true && text !== undefined) {
        const expected = 'all ids in one argument, with commas: --decode 1,85,736';
        fail('INVALID_ARGUMENT', { name: '--decode', found: `${flags.decode} and ${text}`, expected });
      }
      const source = flags.decode === true ? (text ?? (await requireStandardInput(signal))) : flags.decode;
      const ids = parseIds(source);
      const decoded = tokenizer.decode(ids, { special });
      await (flags.json ? output.json({ ids, text: decoded }) : output.line(decoded));
      return undefined;
    }
    const source = text ?? (await requireStandardInput(signal));
    const how = { addSpecial: flags.bos, parseSpecial: special, signal };
    const ids = await tokenizer.encodeInTurns(source, how);
    const pieces = flags.pieces ? ids.map((id) => piece(tokenizer, id)) : undefined;
    if (flags.json) await output.json({ count: ids.length, ids, pieces });
    else if (pieces) await output.write(pieces.map((of, i) => `${ids[i]}\t${printable(of)}\n`).join(''));
    else await output.line(ids.join(' '));
    return undefined;
  },
};

function parseIds(text: string): number[] {
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  return words.map((word) => {
    const id = Number(word);
    if (Number.isSafeInteger(id)) return id;
    return fail('INVALID_ARGUMENT', { name: '--decode', found: word, expected: 'token ids' });
  });
}

/** The text of a token; its bytes in hexadecimal if they are not valid text. */
function piece(tokenizer: Tokenizer, id: number): string {
  const bytes = tokenizer.tokenBytes(id);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return Array.from(bytes, (byte) => `<${byte.toString(16).padStart(2, '0')}>`).join('');
  }
}
