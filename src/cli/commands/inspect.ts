import { Argument, Option } from 'commander';
import type { CliCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { bundledModel } from '../../node/bundled-model.ts';
import { loadOptionsOf } from '../load.ts';
import { memoryNeed, metadataEntries, ropesOf, summarize, tensorEntries, unreadOf } from '../model-report.ts';
import { fitText, metadataText, summaryText, tensorsText, unreadSection } from '../model-report-text.ts';
import {
  type DeviceFlags,
  deviceOptions,
  draftOptions,
  type JsonFlags,
  jsonOption,
  type ModelFlags,
  modelOptions,
} from '../options.ts';
import { openNamed } from '../pull-model.ts';

interface InspectFlags extends Omit<ModelFlags, 'model'>, DeviceFlags, JsonFlags {
  readonly summary?: boolean;
  readonly metadata?: boolean;
  readonly tensors?: boolean;
  readonly fit?: boolean;
  readonly full?: boolean;
}

/** Model options without effect here: the file is the argument, nothing of it is loaded, and what is unread is listed, not refused. */
const NOT_HERE: ReadonlySet<string> = new Set<keyof ModelFlags>(['model', 'load', 'allowUnread']);

/** Options of models that say where a file is: the others are for the memory plan. */
const OF_LOCATION: ReadonlySet<string> = new Set<keyof ModelFlags>(['header', 'offline']);

/** Whether the flags ask for the memory plan: alone, or within the summary or everything. */
function isPlanned({ summary, metadata, tensors, fit }: InspectFlags): boolean {
  return summary === true || fit === true || !(metadata || tensors);
}

/** `rocmforge inspect`: the contents of a file, from its header alone. */
export const inspectCommand: CliCommand<InspectFlags> = {
  arguments: [new Argument('[model]', 'GGUF file, http(s) address or name (default: the bundled model)')],
  options: [
    new Option('--summary', 'only the summary'),
    new Option('--metadata', 'only the metadata'),
    new Option('--tensors', 'only the table of tensors'),
    new Option('--fit', 'only the memory plan, including streamed layers; exit code 1 if there is none'),
    new Option('--full', 'show long arrays and texts in full'),
    jsonOption(),
    ...modelOptions().filter((option) => !NOT_HERE.has(option.attributeName())),
    ...draftOptions(),
    ...deviceOptions(),
  ],
  examples: [
    ['inspect model.gguf', 'summary, metadata and tensors'],
    ['inspect model.gguf --summary -c 32768', 'memory requirements with a large context'],
    ['inspect model.gguf --fit --memory 6GiB', 'resident and streamed layers within 6 GiB'],
    ['inspect https://example.org/model.gguf --tensors', 'a remote file, without downloading it'],
    ['inspect hf:unsloth/Qwen3-0.6B-GGUF:Q8_0 --summary', 'a model of the hub, without pulling it'],
    ['inspect model.gguf --json | jq .parameters', 'a single value for a script'],
  ],
  unread(flags) {
    if (isPlanned(flags)) return undefined;
    const planning = [...modelOptions(), ...draftOptions(), ...deviceOptions()]
      .map((option) => option.attributeName())
      .filter((name) => !OF_LOCATION.has(name));
    const found = [flags.metadata && '--metadata', flags.tensors && '--tensors'].filter(Boolean).join(' ');
    return {
      names: new Set(planning),
      found: `${found} alone`,
      expected: '--summary or --fit, which plan memory',
    };
  },
  async run({ args, flags }, context) {
    const { output } = context;
    const [location = bundledModel()] = args as [string?];
    await using gguf = await openNamed(location, flags, context);
    const all = !(flags.summary || flags.metadata || flags.tensors || flags.fit);
    const wants = (section: 'summary' | 'metadata' | 'tensors') => all || flags[section] === true;
    const full = flags.full === true;
    const summary = wants('summary') ? summarize(gguf) : undefined;
    const unread = summary && unreadOf(gguf);
    // Also for a file that would be refused, which is reported separately.
    const asked = { ...loadOptionsOf(flags), allowUnread: true };
    const ropes = summary && ropesOf(gguf, asked.rope);
    const memory = isPlanned(flags) ? await memoryNeed(gguf, asked) : undefined;
    const code = flags.fit && memory && 'unknown' in memory ? EXIT.failure : EXIT.ok;
    const metadata = wants('metadata') ? metadataEntries(gguf, full) : undefined;
    const tensors = wants('tensors') ? tensorEntries(gguf) : undefined;
    if (flags.json) {
      await output.json({ ...summary, ropes, unread, memory, metadata, tensors });
      return code;
    }
    const sections: string[] = [];
    if (summary && memory) sections.push(summaryText(summary, memory, ropes));
    if (unread && unread.length > 0) sections.push(unreadSection(unread));
    if (flags.fit && memory) sections.push(fitText(memory));
    if (metadata) sections.push(metadataText(metadata, full));
    if (tensors) sections.push(tensorsText(tensors));
    await output.write(sections.join('\n'));
    return code;
  },
};
