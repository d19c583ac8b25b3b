import { type Unread, unreadText } from '../model/unread/unread.ts';
import { formatBytes } from '../base/bytes.ts';
import type { StageSummary } from '../plan/memory/fit-plan.ts';
import type { RopeParameters } from '../ops/index.ts';
import type { MemoryNeed, MetadataEntry, ModelSummary, TensorEntry } from './model-report.ts';
import { printable, tableText } from './table.ts';

/** Maximum characters of a metadata value in a table. */
const SHOWN_CHARACTERS = 100;

/** The summary, one value per line, followed by the formats. */
export function summaryText(
  summary: ModelSummary,
  memory: MemoryNeed,
  ropes: Readonly<Record<string, RopeParameters>> = {},
): string {
  const { layers, trainedContext, vocabulary } = summary;
  const facts: [string, string | undefined][] = [
    ['name', summary.name],
    ['license', summary.license],
    ['file', summary.file],
    ['size', sizeText(summary)],
    ['architecture', summary.architecture],
    ['layers', layers?.toString()],
    ['context', trainedContext === undefined ? undefined : `${trainedContext} trained`],
    ...Object.entries(ropes).map(([name, rope]): [string, string] => [name, ropeText(rope)]),
    ['parameters', `${countText(summary.parameters)} in ${summary.tensorCount} tensors`],
    ['tokenizer', tokenizerText(summary.tokenizer, vocabulary)],
    ['chat template', summary.chatTemplates.join(', ') || 'none'],
    ['memory', memoryText(memory)],
  ];
  const known = facts.filter((fact): fact is [string, string] => fact[1] !== undefined);
  const formats = summary.formats.map((use) => [
    use.format,
    `${use.tensors}`,
    countText(use.parameters),
    formatBytes(use.bytes),
    use.bitsPerWeight.toFixed(2),
  ]);
  const formatTable = tableText(
    [
      ['format', 'left'],
      ['tensors', 'right'],
      ['parameters', 'right'],
      ['size', 'right'],
      ['bits', 'right'],
    ],
    formats,
  );
  return `${known.map(([name, fact]) => `${name.padEnd(14)}${printable(fact)}\n`).join('')}\n${formatTable}`;
}

/** The frequencies, and how they are scaled. */
function ropeText({ dimensions, base, scaling }: RopeParameters): string {
  const frequencies = `base ${shortFloat(base)}, ${dimensions} values of a head`;
  if (scaling.kind === 'none') return frequencies;
  const scaled = `${frequencies}, ${scaling.kind} x ${shortFloat(scaling.factor)}`;
  if (scaling.kind === 'linear') return scaled;
  const { originalContext, extrapolation, attention, betaFast, betaSlow } = scaling;
  const shares = `extrapolation ${shortFloat(extrapolation)}, attention ${shortFloat(attention)}`;
  return `${scaled} of ${originalContext} (${shares}, beta ${betaFast} to ${betaSlow})`;
}

function sizeText({ bytes, parts, version, headerBytes }: ModelSummary): string {
  const split = parts > 1 ? ` in ${parts} parts` : '';
  return `${formatBytes(bytes)}${split}, GGUF v${version}, header ${formatBytes(headerBytes)}`;
}

function tokenizerText(model: string | undefined, vocabulary: number | undefined): string | undefined {
  if (model === undefined) return undefined;
  return vocabulary === undefined ? model : `${model}, ${vocabulary} tokens`;
}

function memoryText(need: MemoryNeed): string {
  if ('unknown' in need) return `not known: ${need.unknown}`;
  const { weights, cache, scratch, ring, margin, host, draft, total, streamedParts, expertSlots } = need.fit;
  const rare = { ...(host > 0 && { host }), ...(draft > 0 && { draft }) };
  const parts = Object.entries({ weights, cache, scratch, ring, margin, ...rare }).map(
    ([name, bytes]) => `${name} ${formatBytes(bytes)}`,
  );
  const layers = streamedParts > 0 ? `; ${streamedParts} layers are streamed` : '';
  const streamed = expertSlots > 0 ? `${layers}; ${expertSlots} experts of each layer stay` : layers;
  return `${formatBytes(total)} for a context of ${need.context} on ${placeOf(need)} (${parts.join(', ')})${streamed}`;
}

/** The device, or how many of them need as much each. */
function placeOf({ device, devices, fit }: Exclude<MemoryNeed, { readonly unknown: string }>): string {
  if (fit.stages) {
    const stages = fit.stages.map(
      (stage) => `${devicesText(stage.device, stage.ranks)} (${stage.layers} layers)`,
    );
    return stages.join(' and ');
  }
  return devices === 1 ? device : `each of ${devices} devices (${device})`;
}

/** A stage's kind of device, of which each of so many needs as much as is said. */
function devicesText(device: string, ranks: number): string {
  return ranks === 1 ? device : `each of ${ranks} ${device}`;
}

/** Lines that are omitted if they are zero. */
const RARE = new Set(['dequantized', 'host', 'draft', 'pinned']);

/** The memory plan, one line per item. */
export function fitText(need: MemoryNeed): string {
  if ('unknown' in need) return `${need.unknown}\n`;
  const { weights, cache, scratch, ring, margin, host, draft, total, onDevice, pinned } = need.fit;
  const { streamedParts, allWeights, dequantized, allocations, slots, slotBytes, expertSlots, copied } =
    need.fit;
  const staying =
    streamedParts > 0
      ? `of ${formatBytes(allWeights)}`
      : `${expertSlots > 0 ? 'slots for experts, and all else' : 'all'} resident, in ${allocations} buffers`;
  const rows: [string, number, string][] = [
    ['weights', weights, staying],
    ['dequantized', dequantized, 'of them are copies for faster prompts'],
    ['cache', cache, `for ${need.context} positions`],
    ['scratch', scratch, 'intermediate results'],
    ['ring', ring, 'pinned while weights load'],
    ['margin', margin, 'other device memory'],
    ['host', host, 'embeddings, in host memory'],
    ['draft', draft, 'the whole draft model'],
    ['total', total, ''],
    ['pinned', pinned, 'in host memory for experts and streamed layers, not in the total'],
    ['on device', onDevice, `${formatBytes(need.free)} are free on ${placeOf(need)}`],
  ];
  const streamed =
    streamedParts === 0
      ? ''
      : `${streamedParts} layers are streamed in every step, through ${slots} x ${formatBytes(slotBytes)}\n`;
  const experts =
    expertSlots === 0 ? '' : `room for ${expertSlots} experts of each layer, the most used ones\n`;
  const table = tableText(
    [
      ['memory', 'left'],
      ['size', 'right'],
      ['', 'left'],
    ],
    rows
      .filter(([name, bytes]) => bytes > 0 || !RARE.has(name))
      .map(([name, bytes, remark]) => [name, formatBytes(bytes), remark]),
  );
  const whole = copied.length === 0 ? '' : `every device has all of ${copied.join(', ')}\n`;
  return table + stagesText(need.fit.stages) + streamed + experts + whole;
}

/** A line for each stage of a pipeline. */
function stagesText(stages: readonly StageSummary[] = []): string {
  const rows = stages.map(({ device, ranks, layers, ...bytes }, stage) => {
    const { weights, cache, scratch, total } = bytes;
    return [
      `${stage}`,
      devicesText(device, ranks),
      `${layers}`,
      ...[weights, cache, scratch, total].map(formatBytes),
    ];
  });
  if (rows.length === 0) return '';
  const headings = ['stage', 'device', 'layers', 'weights', 'cache', 'scratch', 'total'] as const;
  return `\n${tableText(
    headings.map((name) => [name, name === 'device' ? 'left' : 'right'] as const),
    rows,
  )}`;
}

/** One line per key; long values are truncated unless `full`. */
export function metadataText(entries: readonly MetadataEntry[], full: boolean): string {
  const rows = entries.map(({ key, type, length, value }) => {
    const shown = valueText({ key, type, length, value });
    const tooLong = !full && shown.length > SHOWN_CHARACTERS;
    return [printable(key), type, tooLong ? `${shown.slice(0, SHOWN_CHARACTERS)}…` : shown];
  });
  return tableText(
    [
      ['key', 'left'],
      ['type', 'left'],
      ['value', 'left'],
    ],
    rows,
  );
}

function valueText({ type, length, value }: MetadataEntry): string {
  const element = (one: unknown): string => {
    if (typeof one === 'string') return length === undefined ? printable(one) : `"${printable(one)}"`;
    return typeof one === 'number' && type.startsWith('f32') ? shortFloat(one) : String(one);
  };
  if (length === undefined) return element(value);
  const shown = Array.from(value as ArrayLike<unknown>, element);
  return shown.length < length ? `${length}: ${shown.join(' ')} …` : shown.join(' ');
}

/** The shortest decimal that is the same single-precision number. */
function shortFloat(value: number): string {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(value);
}

/** One line per tensor. */
export function tensorsText(rows: readonly TensorEntry[]): string {
  return tableText(
    [
      ['tensor', 'left'],
      ['format', 'left'],
      ['shape', 'right'],
      ['size', 'right'],
      ['offset', 'right'],
    ],
    rows.map(({ name, format, shape, bytes, offset }) => [
      printable(name),
      format,
      shape.join(' x ') || '1',
      formatBytes(bytes),
      `${offset}`,
    ]),
  );
}

function countText(count: number): string {
  if (count < 1e6) return `${count}`;
  return count < 1e9 ? `${(count / 1e6).toFixed(1)} M` : `${(count / 1e9).toFixed(2)} G`;
}

/** Unused tensors and settings, and whether the file is refused because of them. */
export function unreadSection(unread: readonly Unread[]): string {
  const lines = unread.map((of) => `${of.level.padEnd(8)}${printable(unreadText(of))}\n`);
  return `not read\n${lines.join('')}`;
}
