/** Texts of the tiny Llama with drafters of random weights, and the counts that follow from what a drafter guesses. */
import assert from 'node:assert/strict';
import type { Device } from '../../src/device/index.ts';
import type { GenerateOptions } from '../../src/engine/generate-options.ts';
import { LanguageModel, type ModelOptions, type ModelSetup } from '../../src/engine/language-model.ts';
import type { GgufFile } from '../../src/gguf/index.ts';
import { ALL_ARCHITECTURES } from '../../src/model/architectures/index.ts';
import { openCpu } from '../../src/node/open-cpu.ts';
import type { GenerationEnd } from '../../src/runtime/sequence.ts';
import { tinyModel } from './tiny-model.ts';

/** Ids that texts may have, so that a draft is right now and then. */
export const ALLOWED: readonly number[] = [20, 21, 22];

/** Forbids all ids of a vocabulary but those. */
function onlyAllowed(vocabulary: number): Map<number, number> {
  const others = Array.from({ length: vocabulary }, (_, id) => id).filter((id) => !ALLOWED.includes(id));
  return new Map(others.map((id) => [id, Number.NEGATIVE_INFINITY]));
}

export const PROMPTS = [5, 40].map((length) => Array.from({ length }, (_, i) => 3 + ((37 * i) % 200)));

/** A drafter's file. */
export type OpenDrafter = () => Promise<GgufFile>;

/** The tiny Llama on a device, by default the CPU, with a drafter. */
export async function draftedParts(
  drafter?: OpenDrafter,
  open: () => Promise<Device> = () => openCpu({ threads: 1 }),
): Promise<ModelSetup> {
  const parts = { gguf: await tinyModel(), device: await open(), architectures: ALL_ARCHITECTURES };
  return drafter ? { ...parts, draft: { gguf: await drafter() } } : parts;
}

/** The text behind a prompt, of few tokens. */
export async function say(model: LanguageModel, prompt: readonly number[], options: GenerateOptions = {}) {
  const logitBias = onlyAllowed(model.vocabulary);
  const stream = model.generate(prompt, { temperature: 0, ignoreEnd: true, logitBias, ...options });
  const ids: number[] = [];
  for await (const { token } of stream) if (token) ids.push(token.id);
  return { ids, end: stream.end };
}

/** The texts behind the prompts, which run at once, and their counts. */
export async function draftedTexts(
  drafter: OpenDrafter | undefined,
  options: ModelOptions = {},
  { open, ...how }: GenerateOptions & { readonly open?: (() => Promise<Device>) | undefined } = {},
) {
  const parts = await draftedParts(drafter, open);
  const model = await LanguageModel.open({ ...parts, sharesDevice: true }, { sequences: 2, ...options });
  const texts = await Promise.all(PROMPTS.map((prompt) => say(model, prompt, { maxTokens: 40, ...how })));
  await model.dispose();
  assert.equal(parts.device.liveObjects(), 0);
  if (!open) await parts.device[Symbol.asyncDispose]();
  return texts;
}

/** What follows ids, as a drafter says. */
export interface PlainGuesses {
  drafts(ids: readonly number[], count: number): number[];
}

/** What the counts of a greedy text with such drafts are. */
export function expectedCounts(
  drafter: PlainGuesses,
  { prompt, text, guesses }: { prompt: readonly number[]; text: readonly number[]; guesses: number },
) {
  const counts = {
    proposedTokens: 0,
    acceptedTokens: 0,
    draftedSteps: 0,
    acceptedByPosition: [] as number[],
  };
  for (let known = 1; known < text.length; known++) {
    const most = Math.min(guesses, text.length - known - 1);
    const drafts = drafter.drafts([...prompt, ...text.slice(0, known)], most);
    counts.proposedTokens += drafts.length;
    if (drafts.length > 0) counts.draftedSteps++;
    for (let at = 0; at < drafts.length && drafts[at] === text[known]; at++, known++) {
      counts.acceptedTokens++;
      counts.acceptedByPosition[at] = (counts.acceptedByPosition[at] ?? 0) + 1;
    }
  }
  return counts;
}

/** The counts of a text. */
export function countsOf({
  proposedTokens,
  acceptedTokens,
  draftedSteps,
  acceptedByPosition,
}: GenerationEnd) {
  return { proposedTokens, acceptedTokens, draftedSteps, acceptedByPosition: [...acceptedByPosition] };
}

/** A device gives the texts and counts that the CPU device gives; plans of one capacity compute all rows alike. */
export async function giveTheSame(
  drafter: OpenDrafter,
  { open, speculation }: { readonly open: () => Promise<Device>; readonly speculation: number },
): Promise<void> {
  const fixed = { speculation, runtime: { adaptsDrafts: false } };
  const options = { ...fixed, context: 64, deterministic: true, cacheType: 'f32' } as const;
  const expected = await draftedTexts(drafter, options, { maxTokens: 12 });
  const found = await draftedTexts(drafter, options, { open, maxTokens: 12 });
  const seen = (texts: typeof found) => texts.map(({ ids, end }) => ({ ids, ...countsOf(end) }));
  assert.deepEqual(seen(found), seen(expected));
}

/** Opening the tiny Llama with a drafter is refused, and nothing is left open. */
export async function refusesDrafter(
  drafter: OpenDrafter,
  options: ModelOptions,
  code: string,
): Promise<void> {
  const parts = await draftedParts(drafter);
  const { source } = (parts.draft as { gguf: GgufFile }).gguf.tensors[0] ?? {};
  await assert.rejects(LanguageModel.open(parts, options), { code });
  assert.equal(parts.device.liveObjects(), 0);
  await assert.rejects(source?.read(0, new Uint8Array(1)) ?? Promise.resolve(), { code: 'DISPOSED' });
  await parts.device[Symbol.asyncDispose]();
  await parts.gguf.dispose();
}
